// SPDX-License-Identifier: GPL-3.0-or-later
// Detects whether a document trains the same as a recorded run.
#include "ui/model/runs/recorded_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>

#include "core/base/json.h"
#include "core/experiment/resolve.h"

namespace trainyard::ui {
namespace {

using experiment::Experiment;

class TrainsAsRecorded : public testing::Test {
 protected:
  static Experiment example(const std::string& name) {
    return *experiment::load(TRAINYARD_SOURCE_DIR "/resources/experiments/" + name + ".json");
  }

  static telemetry::History run_of(const Experiment& experiment) {
    const base::Json header{{"schema", 1},
                            {"ranks", 4},
                            {"segments", base::Json::array()},
                            {"experiment", to_json(*experiment::resolve(experiment, "/"))}};
    const std::string text = header.dump();
    telemetry::History history;
    EXPECT_TRUE(history.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(text))}));
    return history;
  }
  bool after(const std::function<void(Experiment&)>& change) {
    Experiment document = digits_;
    change(document);
    return trains_as_recorded(document, "/", run_);
  }

  Experiment digits_ = example("four_devices_mirrored_digits");
  telemetry::History run_ = run_of(digits_);
};

TEST_F(TrainsAsRecorded, the_given_experiment) {
  EXPECT_TRUE(after([](Experiment&) {}));
}

TEST_F(TrainsAsRecorded, with_other_names_notes_and_positions) {
  EXPECT_TRUE(after([](Experiment& e) { e.name = "mine", e.notes = "for the class"; }));
  EXPECT_TRUE(after([](Experiment& e) { e.topology.hosts[0].x += 96; }));
  EXPECT_TRUE(after([](Experiment& e) { e.run.seconds_per_step = 1; }));
  EXPECT_TRUE(after([](Experiment& e) { e.training.optimizer.beta2 = 0.5; }))
      << "a field of Adam, which is not used";
}

TEST_F(TrainsAsRecorded, with_automatic_settings_set_to_their_resolved_values) {
  const Experiment resolved = experiment::resolve(digits_, "/")->document;
  ASSERT_NE(resolved, digits_);
  EXPECT_TRUE(after([&](Experiment& e) { e = resolved; }));
  EXPECT_TRUE(after(
      [&](Experiment& e) { e.training.steps = resolved.training.steps, e.training.epochs = 77; }));
  EXPECT_FALSE(after([&](Experiment& e) { e.training.steps = resolved.training.steps + 1; }));
}

// A document whose layers are measured by the run contains no times.
TEST_F(TrainsAsRecorded, with_other_measured_times_of_layers) {
  Experiment drawn = example("two_devices_model_parallel_digits");
  drawn.strategy.stages.partition = experiment::Partition::measured;
  Experiment ran = drawn;
  ran.strategy.stages.times = {{"0", 0.1}, {"2", 3.0}, {"4", 0.1}};
  const telemetry::History run = run_of(ran);
  EXPECT_TRUE(trains_as_recorded(drawn, "/", run));
  EXPECT_TRUE(trains_as_recorded(ran, "/", run));
  ran.strategy.stages.times.front().seconds = 9;
  EXPECT_FALSE(trains_as_recorded(ran, "/", run));
  drawn.strategy.stages.partition = experiment::Partition::cost;
  EXPECT_FALSE(trains_as_recorded(drawn, "/", run));
}

TEST_F(TrainsAsRecorded, not_with_another_value) {
  EXPECT_FALSE(after([](Experiment& e) { e.training.batch_per_rank *= 2; }));
  EXPECT_FALSE(after([](Experiment& e) { e.training.epochs += 1; }));
  EXPECT_FALSE(after([](Experiment& e) { e.training.seed += 1; }));
  EXPECT_FALSE(after([](Experiment& e) { e.data.noise = 0; }));
  EXPECT_FALSE(after([](Experiment& e) { e.strategy.algorithm = collective::Algorithm::direct; }));
  EXPECT_FALSE(after([](Experiment& e) { e.model.layers.front().units += 1; }));
  EXPECT_FALSE(
      after([](Experiment& e) { e.topology.hosts[0].devices[3].role = topology::Role::idle; }));
  EXPECT_FALSE(after([](Experiment& e) { e.topology.hosts.clear(); }));
}

TEST_F(TrainsAsRecorded, with_the_recorded_shards) {
  digits_.data.sharding.kind = data::ShardingKind::label_skew;
  run_ = run_of(digits_);
  EXPECT_EQ(recorded_assignment(run_).shards, experiment::resolve(digits_, "/")->shards);
  EXPECT_EQ(recorded_assignment(run_).shards.size(), 4u);
  EXPECT_TRUE(after([](Experiment&) {}));
  EXPECT_FALSE(after([](Experiment& e) { e.data.sharding.alpha = 3; }));
  EXPECT_FALSE(after([](Experiment& e) { e.data.sharding = {}; }));
  EXPECT_TRUE(recorded_assignment({}).empty());
}

TEST_F(TrainsAsRecorded, with_feature_columns_without_data_files) {
  digits_.data.sharding.kind = data::ShardingKind::vertical;
  run_ = run_of(digits_);
  EXPECT_EQ(recorded_assignment(run_), data_assignment(experiment::resolve(digits_, "/").value()));
  EXPECT_EQ(recorded_assignment(run_).columns.size(), 4);
}

TEST_F(TrainsAsRecorded, with_the_same_data_file_under_another_path) {
  Experiment mnist = example("four_devices_mirrored_mnist");
  const base::Json data{{"sample_shape", {28, 28}},
                        {"classes", 10},
                        {"train_samples", 8000},
                        {"held_out_samples", 2000}};
  const auto resolved = experiment::resolved_from_json(
      {{"document", to_json(experiment::located(mnist, "/home/a"))}, {"data", data}});
  ASSERT_TRUE(resolved) << base::to_string(resolved.error());
  const std::string text = base::Json{{"ranks", 4}, {"experiment", to_json(*resolved)}}.dump();
  telemetry::History run;
  ASSERT_TRUE(run.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(text))}));
  EXPECT_TRUE(trains_as_recorded(mnist, "/home/a", run));
  EXPECT_FALSE(trains_as_recorded(mnist, "/home/b", run));
  EXPECT_FALSE(trains_as_recorded(digits_, "/home/a", run))
      << "another drawing with the same names";
}

TEST_F(TrainsAsRecorded, nothing_if_the_recording_has_no_experiment) {
  EXPECT_FALSE(trains_as_recorded(digits_, "/", {}));
}

}  // namespace
}  // namespace trainyard::ui
