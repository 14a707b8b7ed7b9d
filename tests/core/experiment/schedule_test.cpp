// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {
namespace {

TrainingSpec training(ScheduleSpec schedule) {
  TrainingSpec spec;
  spec.optimizer.learning_rate = 0.5;
  spec.schedule = schedule;
  return spec;
}

TEST(LearningRate, with_constant_schedule_does_not_change) {
  for (const std::int64_t step : {0, 1, 999})
    EXPECT_DOUBLE_EQ(learning_rate(training({}), step, 1000), 0.5);
}

TEST(LearningRate, warms_up_linearly_to_the_full_rate) {
  const TrainingSpec spec = training({.warmup_steps = 4});
  EXPECT_DOUBLE_EQ(learning_rate(spec, 0, 10), 0.125);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 1, 10), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 2, 10), 0.375);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 3, 10), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 4, 10), 0.5);
}

TEST(LearningRate, with_step_schedule_is_multiplied_at_each_interval) {
  const TrainingSpec spec =
      training({.kind = ScheduleKind::step, .every_steps = 100, .factor = 0.1});
  EXPECT_DOUBLE_EQ(learning_rate(spec, 99, 1000), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 100, 1000), 0.05);
  EXPECT_NEAR(learning_rate(spec, 250, 1000), 0.005, 1e-17);
}

TEST(LearningRate, with_step_schedule_counts_steps_of_the_warm_up) {
  const TrainingSpec spec =
      training({.kind = ScheduleKind::step, .warmup_steps = 4, .every_steps = 2, .factor = 0.5});
  EXPECT_DOUBLE_EQ(learning_rate(spec, 1, 10), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 2, 10), 0.1875);  // 3/4 of 0.5, halved once
  EXPECT_DOUBLE_EQ(learning_rate(spec, 4, 10), 0.125);
}

TEST(LearningRate, with_cosine_schedule_falls_to_the_final_fraction) {
  const TrainingSpec spec = training({.kind = ScheduleKind::cosine, .final_fraction = 0.2});
  EXPECT_DOUBLE_EQ(learning_rate(spec, 0, 101), 0.5);
  EXPECT_NEAR(learning_rate(spec, 25, 101), 0.5 * (0.2 + 0.8 * 0.85355339059327378),
              1e-15);  // (1 + cos 45 degrees) / 2
  EXPECT_NEAR(learning_rate(spec, 50, 101), 0.3, 1e-15);
  EXPECT_NEAR(learning_rate(spec, 100, 101), 0.1, 1e-15);
}

TEST(LearningRate, with_cosine_schedule_begins_after_the_warm_up) {
  const TrainingSpec spec = training({.kind = ScheduleKind::cosine, .warmup_steps = 10});
  EXPECT_DOUBLE_EQ(learning_rate(spec, 4, 31), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(spec, 10, 31), 0.5);
  EXPECT_NEAR(learning_rate(spec, 20, 31), 0.25, 1e-15);
  EXPECT_NEAR(learning_rate(spec, 30, 31), 0, 1e-15);
}

TEST(LearningRate, is_unchanged_in_a_run_too_short_for_its_schedule) {
  EXPECT_DOUBLE_EQ(learning_rate(training({.kind = ScheduleKind::cosine}), 0, 1), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(training({.kind = ScheduleKind::cosine, .warmup_steps = 5}), 5, 6),
                   0.5);
}

}  // namespace
}  // namespace trainyard::experiment
