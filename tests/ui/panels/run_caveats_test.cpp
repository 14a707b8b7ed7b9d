// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_caveats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "core/base/json.h"
#include "core/experiment/document.h"
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

QStringList said_of(const telemetry::History& history) {
  return run_caveats(history, recorded_topology(history));
}

TEST(Truths, drawn_speeds_are_said_to_be_drawn) {
  EXPECT_THAT(said_of(history_on({{.name = "cpu0"}})),
              ElementsAre(QString("speeds of devices and links: drawn, not imposed")));
}

TEST(Truths, links_that_are_imposed_are_said_to_be) {
  experiment::RunSpec run;
  run.links = experiment::LinkSpeed::imposed;
  run.link_scale = 0.1;
  EXPECT_THAT(said_of(history_on({{.name = "cpu0"}}, 4, run)),
              ElementsAre(QString(
                  "speeds of links: imposed at 0.1 of drawn; of devices: drawn, not imposed")));
}

TEST(Truths, emulated_devices_are_named_so) {
  const auto caveats =
      said_of(history_on({{.name = "gpu0", .kind = topology::DeviceKind::gpu}, {.name = "cpu0"}}));
  EXPECT_THAT(
      caveats,
      Contains(QString(
          "EMULATED: 1 of 2 devices run on the CPU, whose speed says nothing about a GPU")));
}

TEST(Truths, ranks_that_share_cores_are_said_to) {
  const std::vector<topology::Device> devices{{.name = "a"}, {.name = "b"}, {.name = "c"}};
  EXPECT_THAT(said_of(history_on(devices, 2)),
              Contains(QString("3 ranks share 2 cores: times include waiting for each other")));
  EXPECT_EQ(said_of(history_on(devices, 3)).size(), 1);
}

TEST(Truths, ranks_that_own_samples_are_said_not_to_train_as_one_device) {
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
  EXPECT_THAT(said_of(history),
              Contains(QString("not equivalent to one device with the same global batch: every "
                               "rank trains on its own samples (label_skew sharding)")));
}

TEST(Truths, ranks_that_normalize_their_own_samples_are_said_to_differ) {
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
  EXPECT_THAT(
      said_of(history),
      Contains(testing::ResultOf(
          [](const QString& said) { return said.contains("batch_norm normalizes"); }, true)));
}

TEST(Truths, averaged_weights_are_said_to_differ_with_moments) {
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
  EXPECT_THAT(said_of(history),
              Contains(QString("not equivalent to one device with the same global batch: weights "
                               "are averaged after local updates with local moments")));
}

TEST(Truths, the_simulated_step_stands_beside_the_measured_one) {
  auto history = history_on({{.name = "a"}});
  take(history, telemetry::FrameType::result,
       {{"step_seconds", {{"median", 0.005}}}, {"simulated_step_seconds", 0.002}});
  EXPECT_THAT(said_of(history), Contains(QString("step time: 2 ms simulated, 5 ms measured")));
}

TEST(Truths, dropped_events_are_counted_over_ranks) {
  auto history = history_on({{.name = "a"}, {.name = "b"}});
  for (const int rank : {0, 1}) {
    telemetry::Event event;
    event.subject = static_cast<std::uint16_t>(telemetry::Metric::dropped_events);
    event.value = 600;
    ASSERT_TRUE(
        history.take({telemetry::FrameType::events, rank, std::as_bytes(std::span(&event, 1))}));
  }
  EXPECT_THAT(said_of(history),
              Contains(QString("dropped events: 1,200; details have gaps, totals are complete")));
}

TEST(Truths, slowed_ranks_and_a_machine_slower_than_drawn_are_named) {
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
  EXPECT_THAT(said_of(history), Contains(QString("rank 1 SLOWED DOWN 5×")));
  say(telemetry::Metric::slow_down, 2, 1);
  EXPECT_EQ(said_of(history).size(), 1);
  say(telemetry::Metric::slower_than_drawn_seconds, 3, 0.25);
  EXPECT_THAT(
      said_of(history),
      Contains(QString("this machine is slower than the drawn devices: 250 ms behind so far")));
}

TEST(TimeLeftEstimator, is_reckoned_from_the_last_seconds) {
  TimeLeftEstimator eta;
  EXPECT_FALSE(eta.left(100));
  eta.note(0, 0);
  EXPECT_FALSE(eta.left(100)) << "one point is no speed";
  eta.note(1, 10);
  EXPECT_DOUBLE_EQ(*eta.left(100), 9);
  for (int second = 2; second <= 20; ++second) eta.note(second, 10 + second);
  EXPECT_NEAR(*eta.left(100), 70, 1e-9) << "the fast start is forgotten";
}

TEST(TimeLeftEstimator, is_never_less_than_the_pace_takes) {
  TimeLeftEstimator eta;
  eta.note(0, 0);
  eta.note(1, 100);
  EXPECT_DOUBLE_EQ(*eta.left(1100), 10);
  eta.note(1.1, 110, 0.5);
  EXPECT_DOUBLE_EQ(*eta.left(1110), 500) << "as soon as the pace is another one";
  eta.note(5.1, 120, 0.5);
  EXPECT_DOUBLE_EQ(*eta.left(1120), 500) << "though some steps were granted before";
  eta.note(25.1, 130, 0.5);
  EXPECT_NEAR(*eta.left(1130), 2000, 1e-6) << "it may well be slower";
  eta.note(25.2, 131);
  EXPECT_FALSE(eta.left(1130)) << "at full speed nothing is known yet";
}

}  // namespace
}  // namespace trainyard::ui
