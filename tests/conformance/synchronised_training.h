// SPDX-License-Identifier: GPL-3.0-or-later
// Trainings with batch normalisation over the samples of all ranks, for every kind of transport: they equal one device.
#pragma once

#include "tests/conformance/small_training.h"

namespace trainyard::tests {

// Images, the normalisation within a residual block, dropout. 24 samples a step leave a tail of 10 in an epoch of 250.
inline experiment::Experiment normalised_images(int ranks) {
  experiment::Experiment e = strategy::synchronised(strategy::small_normalised_images(ranks));
  e.training.batch_per_rank = 24 / ranks;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.learning_rate = 0.01;
  e.strategy.bucket_bytes = 600;
  if (ranks == 1) e.strategy.kind = experiment::StrategyKind::one_device;
  return e;
}

inline std::vector<RankOutcome> trained_by(const experiment::Experiment& e, const MakeTransports& transports) {
  return train(experiment::resolve(e, ".").value(), compute::reference::make, transports);
}

// Parameters and running statistics: those of one device, and on all ranks the same to the bit.
inline void expect_equal(const std::vector<RankOutcome>& ranks, const RankOutcome& one) {
  ASSERT_EQ(one.problem, "");
  ASSERT_GT(norm(one.state), 0);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, "");
    EXPECT_LE(distance(rank.parameters, one.parameters), 1e-10);
    EXPECT_LE(distance(rank.state, one.state), 1e-10);
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
    EXPECT_EQ(rank.state, ranks[0].state);
  }
}

inline void expect_images_equal_one_device(int ranks, const MakeTransports& transports) {
  expect_equal(trained_by(normalised_images(ranks), transports), trained_by(normalised_images(1), {})[0]);
}

}  // namespace trainyard::tests
