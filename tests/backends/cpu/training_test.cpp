// SPDX-License-Identifier: GPL-3.0-or-later
// The cpu trains models of images as the plain loops do.
#include <gtest/gtest.h>

#include "tests/backends/cpu/training_alone.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {
namespace {

experiment::Experiment images(experiment::Precision precision, std::int64_t steps) {
  experiment::Experiment e = strategy::small_normalized_images(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.batch_per_rank = 24;
  e.training.steps = steps;
  e.training.precision = precision;
  e.training.optimizer.learning_rate = 0.01;
  return e;
}

void expect_equal_training(const experiment::Experiment& e, double relative) {
  const RankOutcome mine = trained(e, cpu_of_one), plain = trained(e, compute::reference::make);
  ASSERT_EQ(mine.problem, base::Problem{});
  ASSERT_EQ(plain.problem, base::Problem{});
  EXPECT_LE(distance(mine.parameters, plain.parameters), relative);
}

TEST(ImageTraining, on_the_cpu_equals_the_reference_in_fp64) {
  expect_equal_training(images(experiment::Precision::fp64, 22), 1e-10);
}
TEST(ImageTraining, on_the_cpu_equals_the_reference_in_fp32) {
  expect_equal_training(images(experiment::Precision::fp32, 3), 1e-5);
}

// Sums in another order, and now and then another number on the other side of a tie.
TEST(ImageTraining,
     on_the_cpu_in_bfloat16_is_close_to_the_reference_and_differs_from_full_precision) {
  experiment::Experiment e = images(experiment::Precision::fp32, 20);
  const RankOutcome full = trained(e, cpu_of_one);
  e.training.multiplies = experiment::Multiplies::bfloat16;
  const RankOutcome mine = trained(e, cpu_of_one), plain = trained(e, compute::reference::make);
  ASSERT_EQ(mine.problem, base::Problem{});
  ASSERT_EQ(plain.problem, base::Problem{});
  EXPECT_LE(distance(mine.parameters, plain.parameters), 1e-2);
  EXPECT_LE(distance(mine.parameters, plain.parameters),
            0.5 * distance(full.parameters, plain.parameters));
}

// Evaluates with running statistics and without dropout: held-out digits are classified better than
// by chance (0.1).
TEST(ImageTraining, reduces_the_evaluated_loss) {
  experiment::Experiment e = images(experiment::Precision::fp32, 400);
  e.data.train_samples = 1200;
  e.data.held_out_samples = 200;
  e.run.evaluate_every_steps = 400;
  const RankOutcome outcome = trained(e, cpu_of_one);
  ASSERT_EQ(outcome.problem, base::Problem{});
  EXPECT_GT(values_of_metric(outcome, telemetry::Metric::held_out_correct).back() / 200, 0.7);
}

TEST(ImageTraining, records_norms_only_of_segments_with_parameters) {
  const RankOutcome outcome = trained(images(experiment::Precision::fp32, 1), cpu_of_one);
  for (const telemetry::Event& event : outcome.events) {
    if (event.kind != telemetry::EventKind::metric ||
        event.subject != static_cast<std::uint16_t>(telemetry::Metric::reduced_gradient_norm))
      continue;
    EXPECT_GT(event.value, 0) << "segment " << event.index;
  }
}

}  // namespace
}  // namespace trainyard::tests
