// SPDX-License-Identifier: GPL-3.0-or-later
// What the buffers of ranks take, by what they are for: by the plan, and in memory while they train.
#include <gmock/gmock.h>

#include "backends/inproc/transport.h"
#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::StrategyKind;

experiment::Experiment with_adam(experiment::StrategyKind kind) {
  experiment::Experiment e = strategy::small_gpt(3);
  e.strategy.kind = kind;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  return e;
}

plan::RankPlan plan_of(const experiment::Experiment& e) { return strategy::make_plan(strategy::resolved(e)).value().rank_plan(0); }

TEST(MemoryUse, is_all_that_the_arenas_take_but_for_alignment) {
  using enum experiment::StrategyKind;
  for (const auto kind : {mirrored, ddp, fsdp, pipeline, gossip, local_sgd}) {
    const plan::RankPlan plan = plan_of(with_adam(kind));
    const run::Layout laid = run::layout(plan);
    const std::int64_t gaps = laid.private_bytes + laid.shared_bytes - run::memory_use(plan, laid).total();
    EXPECT_GE(gaps, 0);
    EXPECT_LE(gaps, run::kAlignment * std::ssize(plan.buffers));
  }
}

TEST(MemoryUse, of_a_replica_is_the_model_once_for_parameters_and_gradients_and_twice_for_moments) {
  const experiment::Experiment e = with_adam(experiment::StrategyKind::ddp);
  const std::int64_t model = 4 * strategy::resolved(e).model.elements;
  const plan::RankPlan plan = plan_of(e);
  const run::MemoryUse use = run::memory_use(plan, run::layout(plan));
  EXPECT_EQ(use.of(run::MemoryPart::parameters), model);
  EXPECT_EQ(use.of(run::MemoryPart::gradients), model);
  EXPECT_EQ(use.of(run::MemoryPart::moments), 2 * model);
  EXPECT_GT(use.of(run::MemoryPart::activations), 0);
}

std::vector<RankOutcome> trained(const Experiment& e) {
  return trained_by(e, [](int ranks, std::size_t arena_bytes) { return inproc::make(ranks, arena_bytes, {64}).value(); });
}

// Of every rank, part by part: what is in memory, as the system says, and what the plan says that its buffers take.
void expect_memory_as_planned(const Experiment& e) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  const plan::Plan plan = strategy::make_plan(all).value();
  const auto ranks = trained(e);
  for (std::int32_t r = 0; r < plan.ranks; ++r) {
    const plan::RankPlan one = plan.rank_plan(r);
    const run::MemoryUse use = run::memory_use(one, run::layout(one));
    for (std::size_t part = 0; part < run::kMemoryParts; ++part) {
      double measured = 0;
      for (const telemetry::Event& event : ranks[static_cast<std::size_t>(r)].events)
        if (event.kind == telemetry::EventKind::metric && event.subject == static_cast<std::uint16_t>(telemetry::Metric::buffer_bytes) && event.index == part)
          measured = event.value;
      EXPECT_NEAR(measured, static_cast<double>(use.bytes[part]), 0.05 * static_cast<double>(use.bytes[part])) << "rank " << r << ", part " << part;
    }
  }
}

TEST(BuffersInMemory, are_those_of_the_plan) {
  Experiment e = small(4, 24);
  e.model.layers = {{model::LayerKind::linear, 900}, {model::LayerKind::linear, 300}, {model::LayerKind::linear, 0}};
  e.training.steps = 3;
  e.training.optimizer.kind = OptimizerKind::adam;
  for (const StrategyKind kind :
       {StrategyKind::mirrored, StrategyKind::ddp, StrategyKind::fsdp, StrategyKind::tensor_parallel, StrategyKind::hybrid, StrategyKind::pipeline}) {
    SCOPED_TRACE(base::name_of(kind));
    e.strategy.kind = kind;
    if (kind == StrategyKind::pipeline) e.topology = drawn_hosts(1, 3);
    expect_memory_as_planned(e);
  }
}

TEST(BuffersInMemory, are_told_apart_by_where_they_were_put_aside) {
  Experiment e = small(2, 24);
  e.model.layers.assign(9, {model::LayerKind::linear, 300});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.training.steps = 3;
  e.training.optimizer.kind = OptimizerKind::adam;
  e.training.swap.activations = experiment::SwapTo::disk;
  e.training.swap.optimizer = experiment::SwapTo::host;
  expect_memory_as_planned(e);
  const plan::RankPlan one = strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(0);
  const run::MemoryUse use = run::memory_use(one, run::layout(one));
  EXPECT_GT(use.of(run::MemoryPart::disk), 0);
  EXPECT_GT(use.of(run::MemoryPart::host), 0);
  EXPECT_THAT(run::in_words(use),
              testing::EndsWith(" in the host's memory; and " + base::format_bytes(static_cast<double>(use.of(run::MemoryPart::disk))) + " on disk"));
}

}  // namespace
}  // namespace trainyard::tests
