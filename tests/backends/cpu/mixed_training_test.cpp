// SPDX-License-Identifier: GPL-3.0-or-later
// The cpu in mixed precision: as plain loops, and as well as in fp32.
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "tests/backends/cpu/training_alone.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::Precision;

Experiment alone(Experiment e, Precision precision) {
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.batch_per_rank = 24;
  e.training.precision = precision;
  e.training.optimizer.learning_rate = 0.02;
  return e;
}

double last(const RankOutcome& rank, telemetry::Metric metric) {
  double value = 0;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(metric))
      value = event.value;
  return value;
}

// Both round at the same places. Where sums differ in their last bits, a few numbers come to the
// other of two neighbors.
TEST(MixedTraining, on_the_cpu_has_the_gradients_of_the_reference) {
  for (const Precision precision : {Precision::bf16, Precision::fp16})
    for (const Experiment& model :
         {strategy::small_rows(1), strategy::small_tied_gpt(1),
          strategy::small_normalized_images(1), strategy::small_wide_and_deep(1)}) {
      const Experiment e = one_step(alone(model, precision));
      const RankOutcome mine = trained(e, cpu_of_one), plain = trained(e, compute::reference::make),
                        full = trained(one_step(alone(model, Precision::fp32)), cpu_of_one);
      ASSERT_EQ(mine.problem, base::Problem{});
      ASSERT_EQ(plain.problem, base::Problem{});
      EXPECT_LE(distance(mine.gradients, plain.gradients),
                precision == Precision::bf16 ? 5e-3 : 1e-3)
          << base::name_of(precision);
      EXPECT_GT(distance(mine.gradients, full.gradients), 1e-5) << "it does round";
    }
}

// Sentences of a grammar, through two blocks of a transformer; held-out loss.
TEST(MixedTraining, of_a_language_model_learns_as_well_as_in_fp32) {
  const auto loss = [](Precision precision) {
    Experiment e = alone(strategy::small_gpt(1), precision);
    e.data.context = 24;
    e.data.train_samples = 2000, e.data.held_out_samples = 200;
    e.model.layers[0].width = 32;
    e.model.layers[1] = {
        .kind = model::LayerKind::transformer, .heads = 4, .blocks = 2, .hidden = 64};
    e.training.optimizer = {.kind = experiment::OptimizerKind::adamw, .learning_rate = 0.003};
    e.training.steps = 160;
    e.run.evaluate_every_steps = 160;
    const RankOutcome outcome = trained(e, cpu_of_one);
    EXPECT_EQ(outcome.problem, base::Problem{});
    return last(outcome, telemetry::Metric::held_out_loss_sum) /
           last(outcome, telemetry::Metric::held_out_samples);
  };
  const double full = loss(Precision::fp32), begins = std::log(27);
  EXPECT_LT(full, 0.6 * begins) << "it learns";
  for (const Precision precision : {Precision::bf16, Precision::fp16})
    EXPECT_NEAR(loss(precision), full, 0.03 * full) << base::name_of(precision);
}

}  // namespace
}  // namespace trainyard::tests
