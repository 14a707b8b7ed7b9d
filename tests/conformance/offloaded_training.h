// SPDX-License-Identifier: GPL-3.0-or-later
// Trainings of every strategy that puts things aside, for every backend that computes: the same
// bits as without.
#pragma once

#include "core/experiment/swap.h"
#include "tests/conformance/recomputed_training.h"

namespace trainyard::tests::offloaded {

using experiment::Experiment;
using experiment::OffloadTarget;
using experiment::StrategyKind;

// Ops of a kind in all programs of a rank.
inline std::vector<plan::Op> ops_of(const plan::RankPlan& rank, plan::OpKind kind) {
  std::vector<plan::Op> ops;
  for (const plan::Program& program : rank.programs)
    std::copy_if(program.ops.begin(), program.ops.end(), std::back_inserter(ops),
                 [&](const plan::Op& op) { return op.kind == kind; });
  return ops;
}

// Returns whether any rank offloads an output, and whether any offloads its moments.
inline std::pair<bool, bool> offloads(const Experiment& e) {
  const plan::Plan plan = strategy::coarse_plan(experiment::resolve(e, ".").value()).value();
  std::pair<bool, bool> any;
  for (std::int32_t r = 0; r < plan.ranks; ++r)
    for (const plan::Op& op : ops_of(plan.rank_plan(r), plan::OpKind::offload))
      (op.micro >= 0 ? any.first : any.second) = true;
  return any;
}

inline Experiment with_offload(Experiment e, OffloadTarget activations, OffloadTarget optimizer) {
  e.training.swap.activations = activations;
  e.training.swap.optimizer = optimizer;
  return e;
}

inline void expect_the_same_bits(const Experiment& e, const MakeCompute& compute) {
  const auto with = train(experiment::resolve(e, ".").value(), compute, in_process);
  const auto without = train(
      experiment::resolve(with_offload(e, OffloadTarget::nowhere, OffloadTarget::nowhere), ".")
          .value(),
      compute, in_process);
  for (std::size_t r = 0; r < with.size(); ++r) {
    ASSERT_EQ(with[r].problem, base::Problem{});
    ASSERT_EQ(without[r].problem, base::Problem{});
    EXPECT_EQ(with[r].parameters, without[r].parameters);
    EXPECT_EQ(with[r].state, without[r].state);
    for (const auto metric : {telemetry::Metric::loss_sum, telemetry::Metric::held_out_loss_sum})
      EXPECT_EQ(values_of_metric(with[r], metric), values_of_metric(without[r], metric));
  }
}

// Cases with recomputation and without.
inline std::vector<recomputed::Case> cases() {
  Experiment deep = strategy::small_gpt(2);
  deep.model.layers[1].blocks = 2;
  std::vector<recomputed::Case> all = recomputed::cases();
  all.push_back(
      {"tensor parallel", recomputed::trained_as(deep, StrategyKind::tensor_parallel), 0});
  all.push_back({"model parallel", recomputed::trained_as(deep, StrategyKind::model_parallel)});
  all.push_back({"one device, deep",
                 recomputed::trained_as(strategy::small_gpt(1), StrategyKind::one_device)});
  return all;
}

// Tests all strategies with moments, alternately with host and disk; every third one also
// recomputes outputs.
inline void expect_the_same_bits_in_every_strategy(const MakeCompute& compute) {
  int number = 0, with_outputs = 0;
  for (const recomputed::Case& one : cases()) {
    SCOPED_TRACE(one.name);
    Experiment e =
        with_offload(one.experiment, number % 2 == 0 ? OffloadTarget::host : OffloadTarget::disk,
                     number % 2 == 0 ? OffloadTarget::disk : OffloadTarget::host);
    if (number++ % 3 == 0) e.training.recompute_segments = one.k;
    e.training.optimizer.kind = experiment::OptimizerKind::adam;
    e.training.steps = 9;
    const auto problems = experiment::validate(e, ".");
    ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
    const auto [outputs, moments] = offloads(e);
    EXPECT_TRUE(moments);
    with_outputs += outputs ? 1 : 0;
    expect_the_same_bits(e, compute);
  }
  EXPECT_GE(with_outputs, 20) << "small as they are";
}

}  // namespace trainyard::tests::offloaded
