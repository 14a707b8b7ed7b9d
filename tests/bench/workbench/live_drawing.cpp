// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QGridLayout>
#include <cmath>
#include <random>

#include "tests/bench/workbench/figures.h"
#include "tests/bench/workbench/stalls.h"
#include "tests/drawings.h"
#include "ui/canvas/topology_view.h"
#include "ui/charts/plot_view.h"

namespace trainyard::bench {
namespace {

using namespace ui;

constexpr int kHosts = 25, kDevicesPerHost = 8;
constexpr int kCharts = 4, kSeries = 8, kPoints = 100'000, kAdded = 8;
constexpr int kFrames = 150;

topology::Host host(int index) {
  topology::Host made =
      tests::drawn_host("host" + std::to_string(index), kDevicesPerHost, index * kDevicesPerHost);
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
      made.devices[device.name] = {rank++, frame % 2 == 0 ? "training" : "waiting", frame,
                                   (frame * 7 + rank) % 100 / 100.0, false};
    made.buses[host.name] = {1e6 * (frame + rank), 0};
  }
  for (const topology::Link& link : topology.links)
    made.links[LinkName{link.from, link.to}] = {1e6 * (frame + 1), 2e6 * (frame + 1)};
  return made;
}

class Drawing {
 public:
  Drawing() : canvas_(document_, selection_, &window_) {
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

  // The order of a run: updates of the drawing and of every series, then pending work of the event
  // loop.
  void frame(int number) {
    stalls_.timed([&] { canvas_.set_overlay(overlay(document_.experiment().topology, number)); });
    for (PlotView* chart : charts_)
      for (int series = 0; series < kSeries; ++series) {
        const auto batch = points(series, next_, kAdded);
        stalls_.timed([&] { chart->append(QString::number(series), batch); });
      }
    next_ += kAdded;
    for (PlotView* chart : charts_) stalls_.timed([&] { chart->refresh(); });
    stalls_.turn();
  }
  double longest_milliseconds() const { return stalls_.longest_milliseconds(); }
  void forget() { stalls_ = {}; }  // what was measured so far

 private:
  PlotView* make_chart(int index) {
    auto* chart = new PlotView(&window_);
    chart->set_title(QString("Chart %1").arg(index));
    for (int series = 0; series < kSeries; ++series) {
      chart->put_series(QString::number(series),
                        {.label = QString("rank %1").arg(series), .color = series});
      chart->append(QString::number(series), points(series, 0, kPoints));
    }
    return chart;
  }

  std::vector<SeriesPoint> points(int series, int first, int count) {
    std::vector<SeriesPoint> result;
    for (int step = first; step < first + count; ++step)
      result.push_back({1.0 * step, 128.0 * step, 0.005 * step,
                        std::exp(-step / 3e4) + 0.1 * series + noise_(generator_)});
    return result;
  }

  std::mt19937 generator_{1};
  std::normal_distribution<double> noise_{0, 0.05};
  QWidget window_;
  Document document_;
  Selection selection_;
  TopologyView canvas_;
  PlotView* charts_[kCharts]{};
  int next_ = kPoints;
  Stalls stalls_;
};

}  // namespace

LiveDrawing live_drawing() {
  Drawing drawing;
  int number = 0;
  while (number < 5) drawing.frame(number++);  // glyphs and layouts
  drawing.forget();
  QElapsedTimer clock;
  clock.start();
  for (int i = 0; i < kFrames; ++i) drawing.frame(number++);
  return {kFrames / (static_cast<double>(clock.nsecsElapsed()) * 1e-9),
          drawing.longest_milliseconds()};
}

}  // namespace trainyard::bench
