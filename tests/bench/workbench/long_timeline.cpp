// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>

#include "tests/bench/workbench/figures.h"
#include "tests/bench/workbench/stalls.h"
#include "tests/ui/charts/synthetic_run.h"
#include "ui/timeline/timeline_panel.h"

namespace trainyard::bench {
namespace {

using namespace ui;

constexpr int kTimelineRanks = 64, kEventsPerRank = 10'000, kOpsPerStep = 25, kTimelineFrames = 120;
constexpr std::int64_t kOpNanoseconds = 40'000;

// Plan of a step: input, nine compute ops, and between them eight sends with their receives, in
// rounds.
std::string plan_of(int rank) {
  std::string text =
      "rank " + std::to_string(rank) +
      "\nlane input input\nlane compute compute\nlane send.g0 send g0\nlane recv.g0 recv g0\n";
  text += "program train samples 8 of 512\nLOAD.m0 @input\n";
  for (int i = 0; i < 8; ++i)
    text += (i < 4 ? "F.s" : "B.s") + std::to_string(i % 4) + ".m0 @compute\n";
  for (int i = 0; i < 7; ++i) {
    const std::string chunk = "b0.t" + std::to_string(i) + ".c" + std::to_string(i);
    text += "SEND." + chunk + ">r" + std::to_string((rank + 1) % kTimelineRanks) +
            " @send.g0 group g0\n";
    text += "RED." + chunk + "<r" + std::to_string((rank + kTimelineRanks - 1) % kTimelineRanks) +
            " @recv.g0 group g0\n";
  }
  return text + "UPD.s0 @compute\nUPD.s1 @compute\n";
}

telemetry::Event event(int rank, int step, int op) {
  const std::int64_t begin =
      (static_cast<std::int64_t>(step) * kOpsPerStep + op) * kOpNanoseconds + rank * 500;
  const bool moves = op > 8 && op < 23;
  return {begin,
          begin + (moves && op % 2 == 0 ? kOpNanoseconds / 3 : 0),
          begin + kOpNanoseconds * (moves ? 2 : 1) - 100,
          moves ? 4096.0 : 0,
          step,
          static_cast<std::uint16_t>(op),
          0,
          telemetry::EventKind::op};
}

void record(const QString& directory) {
  const test::SyntheticRun run{.ranks = kTimelineRanks,
                               .seconds_per_step = kOpsPerStep * kOpNanoseconds * 1e-9};
  auto writer = run.create(directory.toStdString());
  for (int rank = 0; rank < kTimelineRanks; ++rank) {
    const std::string text = plan_of(rank);
    (void)writer.append(telemetry::FrameType::plan, rank, std::as_bytes(std::span(text)));
  }
  for (int step = 0; step < kEventsPerRank / kOpsPerStep; ++step) {
    for (int rank = 0; rank < kTimelineRanks; ++rank) {
      std::vector<telemetry::Event> events;
      for (int op = 0; op < kOpsPerStep; ++op) events.push_back(event(rank, step, op));
      (void)writer.append_events(rank, events);
    }
    (void)run.append(writer, step, step + 1);
  }
  (void)writer.close();
}

class LongTimeline {
 public:
  LongTimeline() {
    record(directory_.path());
    panel_.resize(1920, 1080);
    panel_.show();
    QApplication::processEvents();
  }

  TimelineFigure look_through() {
    const auto run = Run::open({}, directory_.path());
    stalls_.timed([&] { panel_.set_run(run.get()); });
    while (!run->complete() || panel_.figures().isEmpty()) stalls_.turn();
    TimelineView& view = panel_.view();
    stalls_.timed([&] { view.set_thin(true), view.home(); });
    QElapsedTimer clock;
    clock.start();
    for (int frame = 0; frame < kTimelineFrames;
         ++frame) {  // every rank in sight: from the whole run to a step and back
      stalls_.timed([&] {
        view.zoom_at(0.3, frame < kTimelineFrames / 2 ? 0.9 : 1 / 0.9), view.viewport()->repaint();
      });
      stalls_.turn();
    }
    const double seconds = static_cast<double>(clock.nsecsElapsed()) * 1e-9;
    stalls_.timed([&] { view.set_thin(false), view.home(); });
    stalls_.turn();
    panel_.set_run(nullptr);
    return {kTimelineFrames / seconds, stalls_.longest_milliseconds()};
  }

 private:
  QTemporaryDir directory_;
  TimelinePanel panel_;
  Stalls stalls_;
};

}  // namespace

TimelineFigure long_timeline() { return LongTimeline().look_through(); }

}  // namespace trainyard::bench
