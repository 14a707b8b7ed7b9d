// SPDX-License-Identifier: GPL-3.0-or-later
// A training small enough for every kind of transport, and what its loop allocates.
#pragma once

#include <gtest/gtest.h>

#include "core/compute/reference/reference.h"
#include "tests/conformance/training.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::tests {

// That of the tests of plans, with wider layers. `ranks` devices, one global batch whatever their number.
inline experiment::Experiment small(int ranks, std::int64_t global_batch) {
  experiment::Experiment e = strategy::small(ranks);
  e.model.layers = {
      {model::LayerKind::linear, 19}, {model::LayerKind::tanh, 0}, {model::LayerKind::linear, 13}, {model::LayerKind::relu, 0}, {model::LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 600;
  e.training.batch_per_rank = global_batch / ranks;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.learning_rate = 0.05;
  return e;
}

inline std::vector<long> allocations_of(const experiment::Experiment& e, const MakeTransports& transports) {
  std::vector<long> of_ranks;
  for (const RankOutcome& rank : train(experiment::resolve(e, ".").value(), compute::reference::make, transports)) {
    EXPECT_EQ(rank.problem, "");
    of_ranks.push_back(rank.allocations);
  }
  return of_ranks;
}

// By rank, in its own thread. What a loop allocates grows with its steps: ten times the steps (20 epochs for two), evaluations among
// them, must take no more. For a program that counts (count_allocations.h).
inline std::vector<long> allocated_by_more_steps(experiment::Experiment e, const MakeTransports& transports) {
  e.training.steps = 22;
  const std::vector<long> few = allocations_of(e, transports);
  e.training.steps = 220;
  std::vector<long> more = allocations_of(e, transports);
  EXPECT_EQ(few[0] > 0, conformance::kCounted) << "what is counted";
  for (std::size_t rank = 0; rank < more.size(); ++rank) more[rank] -= few[rank];
  return more;
}

}  // namespace trainyard::tests
