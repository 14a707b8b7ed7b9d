// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_caveats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "tests/fuzzing.h"
#include "tests/ui/has_all.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/panels/run_state_bar.h"

namespace trainyard::ui {
namespace {

using testing::Contains;
using testing::ElementsAre;

void take(telemetry::History& history, telemetry::FrameType type, const base::Json& json) {
  const std::string text = json.dump();
  ASSERT_TRUE(history.take({type, -1, std::as_bytes(std::span(text))}));
}

telemetry::History history_on(const std::vector<topology::Device>& devices, int cores = 4,
                              const experiment::RunSpec& run = {}) {
  experiment::Experiment experiment;
  experiment.topology.hosts.push_back({.name = "host0", .address = {}, .devices = devices});
  experiment.run = run;
  telemetry::History history;
  take(history, telemetry::FrameType::header,
       {{"schema", 1},
        {"cores", cores},
        {"ranks", devices.size()},
        {"segments", base::Json::array()},
        {"experiment", {{"document", experiment::to_json(experiment)}}}});
  return history;
}

QStringList caveats_of(const telemetry::History& history) {
  return run_caveats(history, recorded_topology(history));
}

TEST(RunCaveats, state_drawn_speeds) {
  EXPECT_THAT(caveats_of(history_on({{.name = "cpu0"}})),
              ElementsAre(test::HasAll("devices and links: not imposed")));
}

TEST(RunCaveats, state_imposed_links) {
  experiment::RunSpec run;
  run.links = experiment::LinkSpeed::imposed;
  run.link_scale = 0.1;
  EXPECT_THAT(caveats_of(history_on({{.name = "cpu0"}}, 4, run)),
              ElementsAre(test::HasAll("links: imposed at 0.1", "devices: not imposed")));
}

TEST(RunCaveats, state_emulated_devices) {
  const auto caveats = caveats_of(
      history_on({{.name = "gpu0", .kind = topology::DeviceKind::gpu}, {.name = "cpu0"}}));
  EXPECT_THAT(caveats, Contains(test::HasAll("EMULATED: 1 of 2 devices", "GPU")));
}

TEST(RunCaveats, state_shared_cores) {
  const std::vector<topology::Device> devices{{.name = "a"}, {.name = "b"}, {.name = "c"}};
  EXPECT_THAT(caveats_of(history_on(devices, 2)), Contains(test::HasAll("3 ranks share 2 cores")));
  EXPECT_EQ(caveats_of(history_on(devices, 3)).size(), 1);
}

TEST(RunCaveats, state_that_shards_are_not_equivalent_to_one_device) {
  const std::vector<topology::Device> devices{{.name = "a"}, {.name = "b"}};
  experiment::Experiment experiment;
  experiment.topology.hosts.push_back({.name = "host0", .address = {}, .devices = devices});
  experiment.data.sharding.kind = data::ShardingKind::label_skew;
  telemetry::History history;
  take(history, telemetry::FrameType::header,
       {{"schema", 1},
        {"ranks", 2},
        {"segments", base::Json::array()},
        {"experiment", {{"document", experiment::to_json(experiment)}}}});
  EXPECT_THAT(caveats_of(history), Contains(test::HasAll("one device", "label_skew")));
}

TEST(RunCaveats, state_batch_norm_of_local_samples) {
  experiment::Experiment experiment;
  experiment.topology.hosts.push_back(
      {.name = "host0", .address = {}, .devices = {{.name = "a"}, {.name = "b"}}});
  experiment.model.layers.push_back({model::LayerKind::batch_norm, 0});
  telemetry::History history;
  take(history, telemetry::FrameType::header,
       {{"schema", 1},
        {"ranks", 2},
        {"segments", base::Json::array()},
        {"experiment", {{"document", experiment::to_json(experiment)}}}});
  EXPECT_THAT(caveats_of(history), Contains(test::HasAll("batch_norm")));
}

TEST(RunCaveats, state_averaged_weights_with_moments) {
  experiment::Experiment experiment;
  experiment.topology.hosts.push_back(
      {.name = "host0", .address = {}, .devices = {{.name = "a"}, {.name = "b"}}});
  experiment.strategy.average = experiment::AveragedQuantity::weights;
  experiment.training.optimizer.kind = experiment::OptimizerKind::adam;
  telemetry::History history;
  take(history, telemetry::FrameType::header,
       {{"schema", 1},
        {"ranks", 2},
        {"segments", base::Json::array()},
        {"experiment", {{"document", experiment::to_json(experiment)}}}});
  EXPECT_THAT(caveats_of(history), Contains(test::HasAll("one device", "averaged", "moments")));
}

TEST(RunCaveats, compare_simulated_and_measured_step_time) {
  auto history = history_on({{.name = "a"}});
  take(history, telemetry::FrameType::result,
       {{"step_seconds", {{"median", 0.005}}}, {"simulated_step_seconds", 0.002}});
  EXPECT_THAT(caveats_of(history), Contains(test::HasAll("2 ms simulated", "5 ms measured")));
}

TEST(RunCaveats, state_dropped_events_of_all_ranks) {
  auto history = history_on({{.name = "a"}, {.name = "b"}});
  for (const int rank : {0, 1}) {
    telemetry::Event event;
    event.subject = static_cast<std::uint16_t>(telemetry::Metric::dropped_events);
    event.value = 600;
    ASSERT_TRUE(
        history.take({telemetry::FrameType::events, rank, std::as_bytes(std::span(&event, 1))}));
  }
  EXPECT_THAT(caveats_of(history), Contains(test::HasAll("dropped events: 1,200")));
}

TEST(RunCaveats, state_slowed_ranks_and_a_machine_slower_than_drawn) {
  auto history = history_on({{.name = "a"}, {.name = "b"}});
  const auto say = [&](telemetry::Metric metric, int step, double value) {
    telemetry::Event event;
    event.subject = static_cast<std::uint16_t>(metric);
    event.step = step;
    event.value = value;
    ASSERT_TRUE(
        history.take({telemetry::FrameType::events, 1, std::as_bytes(std::span(&event, 1))}));
  };
  say(telemetry::Metric::slow_down, 1, 5);
  EXPECT_THAT(caveats_of(history), Contains(QString("rank 1 SLOWED DOWN 5×")));
  say(telemetry::Metric::slow_down, 2, 1);
  EXPECT_EQ(caveats_of(history).size(), 1);
  say(telemetry::Metric::slower_than_drawn_seconds, 3, 0.25);
  EXPECT_THAT(caveats_of(history), Contains(test::HasAll("slower", "250 ms")));
}

TEST(TimeLeftEstimator, uses_the_last_seconds) {
  TimeLeftEstimator eta;
  EXPECT_FALSE(eta.left(100));
  eta.note(0, 0);
  EXPECT_FALSE(eta.left(100)) << "a speed requires two points";
  eta.note(1, 10);
  EXPECT_DOUBLE_EQ(*eta.left(100), 9);
  for (int second = 2; second <= 20; ++second) eta.note(second, 10 + second);
  EXPECT_NEAR(*eta.left(100), 70, 1e-9) << "the fast start is excluded";
}

TEST(TimeLeftEstimator, is_at_least_the_time_of_the_pace) {
  TimeLeftEstimator eta;
  eta.note(0, 0);
  eta.note(1, 100);
  EXPECT_DOUBLE_EQ(*eta.left(1100), 10);
  eta.note(1.1, 110, 0.5);
  EXPECT_DOUBLE_EQ(*eta.left(1110), 500) << "a change of the pace applies immediately";
  eta.note(5.1, 120, 0.5);
  EXPECT_DOUBLE_EQ(*eta.left(1120), 500) << "some steps were granted before";
  eta.note(25.1, 130, 0.5);
  EXPECT_NEAR(*eta.left(1130), 2000, 1e-6) << "steps may be slower than the pace";
  eta.note(25.2, 131);
  EXPECT_FALSE(eta.left(1130)) << "the full speed is not yet known";
}

TEST(Fuzz, of_a_recording_never_crashes_its_caveats) {
  const base::Json header = history_on({{.name = "a"}, {.name = "b"}}, 1).header();
  const base::Json state{{"state", "training"}, {"time_ns", 5}, {"seconds_per_step", 0.5}};
  const base::Json result{{"status", "completed"},
                          {"simulated_step_seconds", 0.25},
                          {"step_seconds", {{"median", 0.5}, {"p95", 0.75}}}};
  fuzzing::fuzz(100, [&](fuzzing::Mutator& mutator) {
    telemetry::History history;
    const std::pair<telemetry::FrameType, const base::Json*> frames[] = {
        {telemetry::FrameType::header, &header},
        {telemetry::FrameType::state, &state},
        {telemetry::FrameType::result, &result}};
    for (const auto& [type, json] : frames) {
      const std::string text = base::to_text(mutator.mutate(*json));
      static_cast<void>(history.take({type, -1, std::as_bytes(std::span(text))}));
    }
    static_cast<void>(caveats_of(history));
  });
}

}  // namespace
}  // namespace trainyard::ui
