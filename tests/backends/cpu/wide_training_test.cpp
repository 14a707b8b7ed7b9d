// SPDX-License-Identifier: GPL-3.0-or-later
// Purpose of the wide component: the generator of a click log has a weight for every index, which
// the wide component learns directly. The deep component alone learns it too, but later.
#include <gtest/gtest.h>

#include "backends/cpu/cpu.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using model::LayerKind;
using telemetry::Metric;

constexpr std::int64_t kHeldOut = 2000, kIndices = 400, kSlots = 4;

// Two passes over 4,000 samples in 250 steps; evaluated after the last.
Experiment deep(std::int64_t seed) {
  Experiment e = strategy::small_clicks(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.data.slot_count = kSlots, e.data.vocabulary = kIndices, e.data.dense = 4;
  e.data.train_samples = 4000, e.data.held_out_samples = kHeldOut, e.data.seed = seed;
  e.model.layers = {
      {.kind = LayerKind::embedding_bag, .slot_count = kSlots, .rows = kIndices, .width = 8},
      {LayerKind::linear, 16},
      {LayerKind::relu},
      {LayerKind::linear}};
  e.training.batch_per_rank = 32;
  e.training.epochs = 2;
  e.training.steps = 0;
  e.training.precision = experiment::Precision::fp32;
  e.training.optimizer = {
      .kind = experiment::OptimizerKind::sgd, .learning_rate = 0.1, .momentum = 0};
  e.run.evaluate_every_steps = 250;
  return e;
}

Experiment wide_and_deep(std::int64_t seed) {
  Experiment e = deep(seed);
  e.model.layers.push_back({.kind = LayerKind::wide, .slot_count = kSlots, .rows = kIndices});
  return e;
}

struct HeldOut {
  double loss = 0, accuracy = 0;  // of the last evaluation
};

HeldOut held_out(const Experiment& e) {
  const RankOutcome outcome =
      train(experiment::resolve(e, ".").value(), [] { return std::move(*cpu::make(1)); }, {})
          .front();
  EXPECT_EQ(outcome.problem, base::Problem{});
  HeldOut result;
  for (const telemetry::Event& event : outcome.events) {
    if (event.kind != telemetry::EventKind::metric) continue;
    if (event.subject == static_cast<std::uint16_t>(Metric::held_out_loss_sum))
      result.loss = event.value / kHeldOut;
    if (event.subject == static_cast<std::uint16_t>(Metric::held_out_correct))
      result.accuracy = event.value / kHeldOut;
  }
  return result;
}

// The loss is lower by 0.030 to 0.085 and the accuracy higher by 2 to 5.6 points. After ten passes
// at twice the rate both models are about equal.
TEST(WideAndDeep, predicts_better_than_its_deep_part_after_the_same_steps) {
  for (const std::int64_t seed : {1, 2, 3, 4, 5}) {
    const HeldOut alone = held_out(deep(seed)), both = held_out(wide_and_deep(seed));
    EXPECT_LT(both.loss, alone.loss - 0.02) << "data of seed " << seed;
    EXPECT_GT(both.accuracy, alone.accuracy + 0.01) << "data of seed " << seed;
    EXPECT_GT(both.accuracy, 0.75) << "a guess is right 70 % of the time; data of seed " << seed;
  }
}

}  // namespace
}  // namespace trainyard::tests
