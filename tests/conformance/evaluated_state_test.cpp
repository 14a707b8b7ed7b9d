// SPDX-License-Identifier: GPL-3.0-or-later
// An evaluation uses the running statistics of the chief's replica on all ranks, because these are
// saved in checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/strategy/strategy.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::StrategyKind;
using model::LayerKind;

experiment::Experiment normalized(StrategyKind kind, int ranks) {
  experiment::Experiment e = small(ranks, 24);
  e.model.layers = {
      {LayerKind::linear, 9}, {.kind = LayerKind::batch_norm}, {LayerKind::relu, 0},
      {LayerKind::linear, 6}, {.kind = LayerKind::batch_norm}, {LayerKind::linear, 0}};
  e.strategy.kind = kind;
  e.training.steps = 12;
  if (kind == StrategyKind::hybrid) e.strategy.mesh = {2, 2, 1};
  return e;
}

class EvaluatedState : public testing::TestWithParam<StrategyKind> {};

TEST_P(EvaluatedState, is_that_of_the_chief_on_all_ranks) {
  experiment::Experiment e = normalized(GetParam(), 4);
  const auto evaluated = trained(e);
  e.data.held_out_samples = 0;
  const auto alone = trained(e);
  ASSERT_EQ(evaluated[0].problem, base::Problem{});
  const auto resolved = experiment::resolve(e, ".").value();
  int different = 0;
  for (std::size_t rank = 0; rank < evaluated.size(); ++rank) {
    const auto root = static_cast<std::size_t>(
        experiment::splits_model(GetParam())
            ? experiment::peer_in_chief_replica(resolved, static_cast<int>(rank))
            : resolved.chief);
    EXPECT_EQ(evaluated[rank].parameters, alone[rank].parameters) << "training is the same";
    EXPECT_EQ(evaluated[rank].state, evaluated[root].state) << "rank " << rank;
    EXPECT_EQ(evaluated[root].state, alone[root].state) << "the chief keeps its statistics";
    different += alone[rank].state != alone[root].state ? 1 : 0;
  }
  EXPECT_GT(different, 0) << "without an evaluation, ranks have statistics of their own";
}

TEST_P(EvaluatedState, passes_the_check) {
  const auto resolved = experiment::resolve(normalized(GetParam(), 4), ".").value();
  const auto plan = strategy::make_plan(resolved);
  ASSERT_TRUE(plan) << base::to_string(plan.error());
  EXPECT_GE(plan->rank_plan(0).program("evaluate_state"), 0);
  const base::Problems problems = check::check(*plan);
  EXPECT_TRUE(problems.empty()) << base::to_string(problems);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EvaluatedState,
                         testing::Values(StrategyKind::mirrored, StrategyKind::ddp,
                                         StrategyKind::gossip, StrategyKind::local_sgd,
                                         StrategyKind::fsdp, StrategyKind::hybrid),
                         [](const auto& kind) { return std::string(base::name_of(kind.param)); });

}  // namespace
}  // namespace trainyard::tests
