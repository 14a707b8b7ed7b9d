// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated pipelines: with equal stages, free links and no update, the idle time of ranks equals
// the formulas.
#include <gtest/gtest.h>

#include "core/sim/simulator.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::tests {
namespace {

using experiment::PipelineSchedule;
using plan::OpKind;

struct Pipeline {
  PipelineSchedule schedule;
  int ranks;
  int micro_batches;
  int chunks = 1;
};

// One layer a stage; devices on a bus that takes no time.
experiment::Experiment drawn(const Pipeline& p) {
  experiment::Experiment e = strategy::small(p.ranks);
  e.model.layers.clear();
  for (int s = 1; s < p.ranks * p.chunks; ++s)
    e.model.layers.insert(e.model.layers.end(),
                          {{model::LayerKind::linear, 6}, {model::LayerKind::tanh, 0}});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.strategy.kind = experiment::StrategyKind::pipeline;
  e.strategy.stages.schedule = p.schedule;
  e.strategy.stages.chunks = std::max(2, p.chunks);
  e.training.batch_per_rank = 1;
  e.training.accumulation_steps = p.micro_batches;
  e.data.train_samples = p.micro_batches;
  e.data.held_out_samples = 0;
  topology::Host& host = e.topology.hosts[0];
  host.bus_bandwidth_bits_per_second = 1e15, host.bus_latency_seconds = 0;
  for (topology::Device& device : host.devices)
    device.peak_flops = 1e9, device.memory_bandwidth_bytes_per_second = 1e15;
  return e;
}

// Forward takes 1 ms a stage, back 2 ms; nothing else takes any time. Where gradients of weights
// come later, they have half of that; else B has all of it, since the formulas let a stage hand on
// its gradient when it is through, and by its data it may before its last W.
plan::Plan equalised(const plan::Plan& plan, bool separate) {
  plan::Plan equal = plan;
  equal.rank_plan = [made = plan.rank_plan, separate](std::int32_t rank) {
    plan::RankPlan changed = made(rank);
    for (plan::Program& program : changed.programs)
      for (plan::Op& op : program.ops) {
        op.flops = 0;
        if (op.kind == OpKind::forward || (separate && op.kind == OpKind::backward_weight))
          op.flops = 1'000'000;
        if (op.kind == OpKind::backward_input) op.flops = separate ? 1'000'000 : 2'000'000;
      }
    return changed;
  };
  return equal;
}

sim::Outcome simulated(const Pipeline& p) {
  const experiment::Resolved r = strategy::resolved(drawn(p));
  sim::Options options;
  options.steps = 1;
  options.launch_seconds = 0;
  const auto outcome = sim::simulate(
      equalised(strategy::make_plan(r).value(), p.schedule == PipelineSchedule::zb_h1),
      topology::Network(r.document.topology), options);
  EXPECT_TRUE(outcome) << base::to_string(outcome.error());
  return outcome.value_or(sim::Outcome{});
}

double simulated_bubble(const Pipeline& p) { return simulated(p).bubble_fraction; }

constexpr double kNearly = 1e-6;  // what a few bytes take on such links

TEST(SimulatedPipelines, have_the_bubble_of_the_formulas) {
  for (const int p : {2, 3, 4, 8})
    for (const int m : {p, 2 * p, 4 * p}) {
      SCOPED_TRACE(std::to_string(p) + " ranks, " + std::to_string(m) + " micro-batches");
      const double n = p - 1;
      EXPECT_NEAR(simulated_bubble({PipelineSchedule::gpipe, p, m}), n / (m + n), kNearly);
      EXPECT_NEAR(simulated_bubble({PipelineSchedule::one_forward_one_backward, p, m}), n / (m + n),
                  kNearly);
      EXPECT_NEAR(simulated_bubble({PipelineSchedule::pipedream, p, m}), n / (m + n), kNearly);
      EXPECT_NEAR(simulated_bubble({PipelineSchedule::naive, p, m}), n / p, kNearly);
      EXPECT_NEAR(simulated_bubble({PipelineSchedule::interleaved_1f1b, p, m, 2}), n / (2 * m + n),
                  kNearly);
      const int many = m + p;
      EXPECT_NEAR(simulated_bubble({PipelineSchedule::zb_h1, p, many}), n / (3 * many + n),
                  kNearly);
    }
}

// A device alone takes 3 ms for each of p stages of a micro-batch.
TEST(SimulatedPipelines, have_the_speedup_of_the_formula) {
  for (const int p : {2, 4, 8})
    for (const int m : {1, p, 32}) {
      SCOPED_TRACE(std::to_string(p) + " ranks, " + std::to_string(m) + " micro-batches");
      const double alone = 3e-3 * p * m;
      EXPECT_NEAR(alone / simulated({PipelineSchedule::gpipe, p, m}).first_step_seconds,
                  static_cast<double>(p * m) / (m + p - 1), p * kNearly);
    }
}

}  // namespace
}  // namespace trainyard::tests
