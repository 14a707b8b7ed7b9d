// SPDX-License-Identifier: GPL-3.0-or-later
// Four charts of eight live series each, at 100,000 points a series, painted by software while every series grows: frames a
// second, and the longest time the GUI thread was away from its event loop. To reach: 30 frames a second, no stall over 50 ms.
#include <QApplication>
#include <QElapsedTimer>
#include <QGridLayout>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "ui/charts/plot_view.h"
#include "ui/theme/theme.h"

namespace {

using namespace trainyard::ui;

constexpr int kCharts = 4, kSeries = 8, kPoints = 100'000, kAdded = 8, kFrames = 150;
constexpr double kFrameMilliseconds = 1000.0 / 30;

class Bench {
 public:
  Bench() {
    window_.resize(1280, 800);
    auto* grid = new QGridLayout(&window_);
    for (int i = 0; i < kCharts; ++i) grid->addWidget(charts_[i] = make_chart(i), i / 2, i % 2);
    window_.show();
    QApplication::processEvents();
  }

  // As a run does: a batch of points for every series, then whatever the event loop has to do.
  void frame() {
    for (PlotView* chart : charts_)
      for (int series = 0; series < kSeries; ++series) {
        const auto batch = points(series, next_, kAdded);
        timed([&] { chart->append(QString::number(series), batch); });
      }
    next_ += kAdded;
    for (PlotView* chart : charts_) timed([&] { chart->refresh(); });
    timed([] { QApplication::processEvents(); });
  }
  double longest_milliseconds() const { return longest_; }
  void forget() { longest_ = 0; }  // what was measured so far

 private:
  PlotView* make_chart(int index) {
    auto* chart = new PlotView(&window_);
    chart->set_title(QString("Chart %1").arg(index));
    for (int series = 0; series < kSeries; ++series) {
      chart->put_series(QString::number(series), {.label = QString("rank %1").arg(series), .colour = series});
      chart->append(QString::number(series), points(series, 0, kPoints));
    }
    return chart;
  }

  std::vector<SeriesPoint> points(int series, int first, int count) {
    std::vector<SeriesPoint> result;
    for (int step = first; step < first + count; ++step)
      result.push_back({1.0 * step, 128.0 * step, 0.005 * step, std::exp(-step / 3e4) + 0.1 * series + noise_(generator_)});
    return result;
  }

  template <class Work>
  void timed(Work work) {
    QElapsedTimer clock;
    clock.start();
    work();
    longest_ = std::max(longest_, static_cast<double>(clock.nsecsElapsed()) * 1e-6);
  }

  std::mt19937 generator_{1};
  std::normal_distribution<double> noise_{0, 0.05};
  QWidget window_;
  PlotView* charts_[kCharts]{};
  int next_ = kPoints;
  double longest_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(count, arguments);
  Theme::instance().apply(Theme::Kind::light);
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.frame();  // glyphs and layouts
  bench.forget();
  QElapsedTimer clock;
  clock.start();
  for (int i = 0; i < kFrames; ++i) bench.frame();
  const double seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9, rate = kFrames / seconds;
  std::printf("%d charts x %d series x %d points: %.1f frames/s (to reach: 30), %.1f ms a frame, longest stall %.1f ms (to reach: < 50)\n", kCharts, kSeries,
              kPoints, rate, 1000 / rate, bench.longest_milliseconds());
  return rate >= 1000 / kFrameMilliseconds && bench.longest_milliseconds() < 50 ? 0 : 1;
}
