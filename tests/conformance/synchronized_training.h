// SPDX-License-Identifier: GPL-3.0-or-later
// Trainings with batch normalization over the samples of all ranks, for every kind of transport:
// they equal one device.
#pragma once

#include "tests/conformance/small_training.h"

namespace trainyard::tests {

// The normalization within a residual block; dropout.
inline experiment::Experiment normalized_images(int ranks) {
  return images(strategy::synchronized(strategy::small_normalized_images(ranks)), ranks);
}

// Parameters and running statistics: those of one device, and on all ranks the same to the bit.
inline void expect_equal(const std::vector<RankOutcome>& ranks, const RankOutcome& one) {
  ASSERT_EQ(one.problem, base::Problem{});
  ASSERT_GT(norm(one.state), 0);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.parameters, one.parameters), 1e-10);
    EXPECT_LE(distance(rank.state, one.state), 1e-10);
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
    EXPECT_EQ(rank.state, ranks[0].state);
  }
}

inline void expect_images_equal_one_device(int ranks, const MakeTransports& transports) {
  expect_equal(trained_by(normalized_images(ranks), transports),
               trained_by(normalized_images(1), {})[0]);
}

}  // namespace trainyard::tests
