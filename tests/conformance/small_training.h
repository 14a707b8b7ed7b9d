// SPDX-License-Identifier: GPL-3.0-or-later
// A training small enough for every kind of transport, and what its loop allocates.
#pragma once

#include <gtest/gtest.h>

#include "core/compute/reference/reference.h"
#include "tests/conformance/training.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::tests {

// The experiment of the tests of plans with wider layers: `ranks` devices, and one global batch for
// any number of them.
inline experiment::Experiment small(int ranks, std::int64_t global_batch) {
  experiment::Experiment e = strategy::small(ranks);
  e.model.layers = {{model::LayerKind::linear, 19},
                    {model::LayerKind::tanh, 0},
                    {model::LayerKind::linear, 13},
                    {model::LayerKind::relu, 0},
                    {model::LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 600;
  e.training.batch_per_rank = global_batch / ranks;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.learning_rate = 0.05;
  return e;
}

// One of images: 24 samples a step leave a tail of 10 in an epoch of 250.
inline experiment::Experiment images(experiment::Experiment e, int ranks) {
  e.training.batch_per_rank = 24 / ranks;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.learning_rate = 0.01;
  e.strategy.bucket_bytes = 600;
  if (ranks == 1) e.strategy.kind = experiment::StrategyKind::one_device;
  return e;
}

// Splits the same batch into `micro_steps` micro-steps.
inline experiment::Experiment in_micro_steps(experiment::Experiment e, std::int64_t micro_steps) {
  e.training.accumulation_steps = micro_steps;
  e.training.batch_per_rank /= micro_steps;
  return e;
}

// Up to the gradients of the first step, which an evaluation would overwrite.
inline experiment::Experiment one_step(experiment::Experiment e) {
  e.training.steps = 1;
  e.data.held_out_samples = 0;
  return e;
}

inline std::vector<RankOutcome> trained_by(const experiment::Experiment& e,
                                           const MakeTransports& transports) {
  return train(experiment::resolve(e, ".").value(), compute::reference::make, transports);
}

// Values of a metric that a rank reported, by step.
inline std::vector<double> values_of_metric(const RankOutcome& rank, telemetry::Metric metric) {
  std::vector<double> values;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(metric))
      values.push_back(event.value);
  return values;
}

// Sum over all ranks of a metric at a step.
inline double sum_of(const std::vector<RankOutcome>& ranks, telemetry::Metric metric,
                     std::int32_t step) {
  double sum = 0;
  for (const RankOutcome& rank : ranks)
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(metric) && event.step == step)
        sum += event.value;
  return sum;
}

// Reduced, those of one device; and the same to the bit on all ranks.
inline void expect_gradients_of(const RankOutcome& one, const std::vector<RankOutcome>& ranks) {
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_GT(norm(rank.gradients), 0);
    EXPECT_LE(distance(rank.gradients, one.gradients), 1e-5);
    EXPECT_EQ(rank.gradients, ranks[0].gradients);
  }
}

inline std::vector<long> allocations_of(const experiment::Experiment& e,
                                        const MakeTransports& transports) {
  std::vector<long> of_ranks;
  for (const RankOutcome& rank : trained_by(e, transports)) {
    EXPECT_EQ(rank.problem, base::Problem{});
    of_ranks.push_back(rank.allocations);
  }
  return of_ranks;
}

// Counts allocations by rank, in its thread. Allocations of a loop grow with its steps: ten times
// the steps (20 epochs instead of two), including evaluations, must not allocate more. For programs
// that count allocations (count_allocations.h).
inline std::vector<long> allocated_by_more_steps(experiment::Experiment e,
                                                 const MakeTransports& transports) {
  e.training.steps = 22;
  const std::vector<long> few = allocations_of(e, transports);
  e.training.steps = 220;
  std::vector<long> more = allocations_of(e, transports);
  EXPECT_EQ(few[0] > 0, conformance::kCounted) << "what is counted";
  for (std::size_t rank = 0; rank < more.size(); ++rank) more[rank] -= few[rank];
  return more;
}

}  // namespace trainyard::tests
