// SPDX-License-Identifier: GPL-3.0-or-later
// Recording of a simulated pipeline, slowed down by a constant factor: planned and measured times
// differ by that factor only.
#pragma once

#include <filesystem>

#include "core/plan/text.h"
#include "core/sim/simulator.h"
#include "core/telemetry/recording.h"
#include "tests/ui/drawn_pipeline.h"

namespace trainyard::ui::test {

struct RecordedPipeline {
  experiment::Resolved resolved;
  std::int64_t slower = 3;
  bool ops = true;
  int lost = -1;  // number of an op of rank 0 that is not recorded in any step

  // Records its first steps.
  void write(const std::filesystem::path& directory, int steps) const {
    const plan::Plan plan = strategy::make_plan(resolved).value();
    std::filesystem::create_directories(directory);
    auto writer = std::move(*telemetry::RecordingWriter::create(
        directory / telemetry::kRecordingFile, {{"run", "by hand"},
                                                {"ranks", plan.ranks},
                                                {"experiment", experiment::to_json(resolved)}}));
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const std::string text = plan::to_text(plan.rank_plan(rank));
      EXPECT_TRUE(writer.append(telemetry::FrameType::plan, rank, std::as_bytes(std::span(text))));
    }
    for (const auto& [rank, event] : events(plan, steps))
      EXPECT_TRUE(writer.append_events(rank, std::span(&event, 1)));
    EXPECT_TRUE(writer.close());
  }

 private:
  std::vector<std::pair<int, telemetry::Event>> events(const plan::Plan& plan, int steps) const {
    std::vector<std::pair<int, telemetry::Event>> all;
    sim::Options options;
    options.steps = steps + 1;  // the next step begins within the time of a step
    options.on_event = [&](int rank, telemetry::Event event) {
      const bool op = event.kind == telemetry::EventKind::op;
      if (event.step >= steps || (op && !ops) || (op && rank == 0 && event.subject == lost)) return;
      for (std::int64_t* time : {&event.begin_ns, &event.ready_ns, &event.end_ns}) *time *= slower;
      if (!op && event.subject == static_cast<std::uint16_t>(telemetry::Metric::step_seconds))
        event.value *= static_cast<double>(slower);
      all.emplace_back(rank, event);
    };
    EXPECT_TRUE(sim::simulate(plan, topology::Network(resolved.document.topology), options));
    return all;
  }
};

}  // namespace trainyard::ui::test
