// SPDX-License-Identifier: GPL-3.0-or-later
// Trains ranks that have some layers each, and puts together what they have.
#pragma once

#include <gtest/gtest.h>

#include "core/experiment/stages.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {

// Six micro-batches of 4 samples a step; an epoch of 250 ends with 10 in three.
inline experiment::Experiment split(experiment::Experiment e, experiment::StrategyKind kind,
                                    experiment::PipelineSchedule schedule) {
  e.strategy.kind = kind;
  e.strategy.stages.schedule = schedule;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 6;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  return e;
}

// Trains on the first device only.
inline experiment::Experiment alone(experiment::Experiment e) {
  for (std::size_t d = 1; d < e.topology.hosts[0].devices.size(); ++d)
    e.topology.hosts[0].devices[d].role = topology::Role::idle;
  e.strategy = {};
  e.strategy.kind = experiment::StrategyKind::one_device;
  return e;
}

// Contents of a flat buffer over all ranks, as one device would have them.
struct Whole {
  std::vector<double> parameters, gradients, state;
};
inline Whole gathered(const experiment::Experiment& e, const std::vector<RankOutcome>& ranks) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  Whole whole{std::vector<double>(static_cast<std::size_t>(all.model.elements)),
              std::vector<double>(static_cast<std::size_t>(all.model.elements)),
              std::vector<double>(static_cast<std::size_t>(all.model.state_elements))};
  const auto copy = [](const std::vector<double>& from, const std::vector<model::Parameter>& here,
                       const std::vector<model::Parameter>& there, std::vector<double>& to) {
    for (const model::Parameter& part : here) {
      const auto at = std::find_if(there.begin(), there.end(),
                                   [&](const model::Parameter& p) { return p.name == part.name; });
      std::copy_n(from.begin() + part.offset, part.shape.elements(), to.begin() + at->offset);
    }
  };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, base::Problem{});
    if (!ranks[r].problem.id.empty()) return whole;
    const model::Model own = experiment::of_rank(all, static_cast<int>(r)).model;
    copy(ranks[r].parameters, own.parameters, all.model.parameters, whole.parameters);
    copy(ranks[r].gradients, own.parameters, all.model.parameters, whole.gradients);
    copy(ranks[r].state, own.state, all.model.state, whole.state);
  }
  return whole;
}

}  // namespace trainyard::tests
