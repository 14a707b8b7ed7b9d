// SPDX-License-Identifier: GPL-3.0-or-later
// What the window shows of a large live run, painted by software: a canvas of 200 devices whose states and traffic all change,
// beside four charts of eight series that grow at 100,000 points each. Frames a second, and the longest time the GUI thread was
// away from its event loop. To reach: 30 frames a second, no stall over 50 ms.
#include <QApplication>
#include <QElapsedTimer>
#include <QGridLayout>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "tests/drawings.h"
#include "ui/canvas/topology_view.h"
#include "ui/charts/plot_view.h"
#include "ui/theme/theme.h"

namespace {

using namespace trainyard;
using namespace trainyard::ui;

constexpr int kHosts = 25, kDevicesPerHost = 8;
constexpr int kCharts = 4, kSeries = 8, kPoints = 100'000, kAdded = 8;
constexpr int kFrames = 150;
constexpr double kWantedRate = 30, kLongestStallMilliseconds = 50;

topology::Host host(int index) {
  topology::Host made = tests::drawn_host("host" + std::to_string(index), kDevicesPerHost, index * kDevicesPerHost);
  made.x = index % 5 * 480;
  made.y = index / 5 * 320;
  return made;
}

experiment::Experiment large_drawing() {
  experiment::Experiment made;
  made.topology.switches.push_back({"switch0", 960, -240});
  for (int i = 0; i < kHosts; ++i) {
    made.topology.hosts.push_back(host(i));
    made.topology.links.push_back({made.topology.hosts.back().name, "switch0"});
  }
  return made;
}

// Every device a step further, every link at another rate.
Overlay overlay(const topology::Topology& topology, int frame) {
  Overlay made;
  int rank = 0;
  for (const topology::Host& host : topology.hosts) {
    for (const topology::Device& device : host.devices)
      made.devices[device.name] = {rank++, frame % 2 == 0 ? "training" : "waiting", frame, (frame * 7 + rank) % 100 / 100.0, false};
    made.buses[host.name] = {1e6 * (frame + rank), 0};
  }
  for (const topology::Link& link : topology.links) made.links[LinkName{link.from, link.to}] = {1e6 * (frame + 1), 2e6 * (frame + 1)};
  return made;
}

class Bench {
 public:
  Bench() : canvas_(document_, selection_, &window_) {
    document_.reset(large_drawing());
    window_.resize(1920, 1080);
    auto* grid = new QGridLayout(&window_);
    grid->addWidget(&canvas_, 0, 0, 1, kCharts);
    for (int i = 0; i < kCharts; ++i) grid->addWidget(charts_[i] = make_chart(i), 1, i);
    grid->setRowStretch(0, 3);
    grid->setRowStretch(1, 2);
    window_.show();
    QApplication::processEvents();
    canvas_.zoom_to_fit();
  }

  // As a run does: what came for the drawing and for every series, then whatever the event loop has to do.
  void frame(int number) {
    timed([&] { canvas_.set_overlay(overlay(document_.experiment().topology, number)); });
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
  Document document_;
  Selection selection_;
  TopologyView canvas_;
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
  int number = 0;
  while (number < 5) bench.frame(number++);  // glyphs and layouts
  bench.forget();
  QElapsedTimer clock;
  clock.start();
  for (int i = 0; i < kFrames; ++i) bench.frame(number++);
  const double rate = kFrames / (static_cast<double>(clock.nsecsElapsed()) * 1e-9);
  std::printf("%d devices; %d charts x %d series x %d points: %.1f frames/s (to reach: %.0f), %.1f ms a frame, longest stall %.1f ms (to reach: < %.0f)\n",
              kHosts * kDevicesPerHost, kCharts, kSeries, kPoints, rate, kWantedRate, 1000 / rate, bench.longest_milliseconds(), kLongestStallMilliseconds);
  return rate >= kWantedRate && bench.longest_milliseconds() < kLongestStallMilliseconds ? 0 : 1;
}
