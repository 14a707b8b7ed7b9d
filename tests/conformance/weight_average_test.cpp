// SPDX-License-Identifier: GPL-3.0-or-later
// Real training of which weights are averaged at every step: the average of gradients where an
// update is linear in them, and all ranks alike in any case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::AveragedQuantity;
using experiment::OptimizerKind;

experiment::Experiment averaging(AveragedQuantity average, int ranks, double momentum,
                                 std::int64_t micro_steps = 1) {
  experiment::Experiment e = small(ranks, 24);
  e.strategy.average = average;
  e.training.batch_per_rank /= micro_steps;
  e.training.accumulation_steps = micro_steps;
  e.training.optimizer.momentum = momentum;
  return e;
}

void expect_equal_training(const experiment::Experiment& one, const experiment::Experiment& other) {
  const auto expected = trained(other);
  for (const RankOutcome& rank : trained(one)) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.parameters, expected[0].parameters), 1e-10);
  }
}

// 24 samples a step leave a tail of 10 in an epoch of 250, in unequal parts.
TEST(WeightAverage, equals_gradient_averaging_with_plain_sgd) {
  for (const int ranks : {1, 2, 3, 4, 12})
    for (const double weight_decay : {0.0, 0.01}) {
      experiment::Experiment gradients = averaging(AveragedQuantity::gradients, ranks, 0),
                             weights = averaging(AveragedQuantity::weights, ranks, 0);
      for (auto* e : {&gradients, &weights}) e->training.optimizer.weight_decay = weight_decay;
      const auto expected = trained(gradients), found = trained(weights);
      for (const RankOutcome& rank : found) {
        ASSERT_EQ(rank.problem, base::Problem{});
        EXPECT_LE(distance(rank.parameters, expected[0].parameters), 1e-10) << ranks;
        EXPECT_EQ(rank.parameters, found[0].parameters);
      }
    }
}

TEST(WeightAverage, equals_gradient_averaging_in_micro_steps) {
  expect_equal_training(averaging(AveragedQuantity::weights, 3, 0, 4),
                        averaging(AveragedQuantity::gradients, 3, 0));
}

// Two samples in the tail: ten of twelve ranks have none, and their weights do not count.
TEST(WeightAverage, gives_no_weight_to_a_rank_without_samples) {
  experiment::Experiment gradients = averaging(AveragedQuantity::gradients, 12, 0),
                         weights = averaging(AveragedQuantity::weights, 12, 0);
  for (auto* e : {&gradients, &weights}) e->data.train_samples = 242;
  expect_equal_training(weights, gradients);
}

// The mean of the ranks' moments is then the moment of the mean gradient.
TEST(WeightAverage, equals_gradient_averaging_with_momentum_for_equal_shards) {
  experiment::Experiment gradients = averaging(AveragedQuantity::gradients, 3, 0.9),
                         weights = averaging(AveragedQuantity::weights, 3, 0.9);
  for (auto* e : {&gradients, &weights}) e->data.train_samples = 240;
  expect_equal_training(weights, gradients);
}

struct Update {
  OptimizerKind optimizer;
  double momentum, clip_norm;
};

TEST(WeightAverage, differs_with_moments_or_clipping_but_keeps_ranks_identical) {
  for (const Update& update : {Update{OptimizerKind::sgd, 0.9, 0},
                               {OptimizerKind::sgd, 0, 0.5},
                               {OptimizerKind::adam, 0, 0},
                               {OptimizerKind::adamw, 0, 0.5}}) {
    experiment::Experiment gradients = averaging(AveragedQuantity::gradients, 3, update.momentum),
                           weights = averaging(AveragedQuantity::weights, 3, update.momentum);
    for (auto* e : {&gradients, &weights}) {
      e->training.optimizer.kind = update.optimizer;
      e->training.clip_norm = update.clip_norm;
    }
    const auto found = trained(weights), other = trained(gradients);
    for (const RankOutcome& rank : found) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_EQ(rank.parameters, found[0].parameters) << base::name_of(update.optimizer);
    }
    const double apart = distance(found[0].parameters, other[0].parameters);
    EXPECT_GT(apart, 1e-8) << base::name_of(update.optimizer) << " " << update.clip_norm;
    EXPECT_LT(apart, 0.5);
  }
}

TEST(WeightAverage, is_bit_identical_in_fp32) {
  experiment::Experiment e = averaging(AveragedQuantity::weights, 4, 0.9);
  e.training.precision = experiment::Precision::fp32;
  const auto ranks = trained(e);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
}

// No gradient was reduced, so none is shown to have been; each rank's own norm is that of its own
// mean.
TEST(WeightAverage, records_no_reduced_gradient) {
  const auto weights = trained(averaging(AveragedQuantity::weights, 2, 0)),
             gradients = trained(averaging(AveragedQuantity::gradients, 2, 0));
  const auto values = [](const RankOutcome& rank, telemetry::Metric metric) {
    std::vector<double> list;
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(metric))
        list.push_back(event.value);
    return list;
  };
  EXPECT_TRUE(values(weights[1], telemetry::Metric::reduced_gradient_norm).empty());
  EXPECT_FALSE(values(gradients[1], telemetry::Metric::reduced_gradient_norm).empty());
  EXPECT_THAT(values(weights[1], telemetry::Metric::local_gradient_norm),
              testing::Pointwise(testing::DoubleNear(1e-8),
                                 values(gradients[1], telemetry::Metric::local_gradient_norm)));
}

TEST(WeightAverage, sends_as_many_bytes_as_gradients) {
  const auto weights = trained(averaging(AveragedQuantity::weights, 3, 0)),
             gradients = trained(averaging(AveragedQuantity::gradients, 3, 0));
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (std::size_t peer = 0; peer < 3; ++peer)
      EXPECT_EQ(weights[rank].traffic[peer].sent_payload_bytes,
                gradients[rank].traffic[peer].sent_payload_bytes);
}

}  // namespace
}  // namespace trainyard::tests
