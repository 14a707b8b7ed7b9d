// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {
namespace {

// An evaluator, a server and three workers, drawn in this order.
experiment::Resolved evaluated() {
  experiment::Experiment e = small(5);
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.topology.hosts[0].devices[0].role = topology::Role::evaluator;
  e.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  return experiment::resolve(e, ".").value();
}

TEST(Evaluator, evaluates_instead_of_workers) {
  const plan::Plan plan = make_plan(evaluated()).value();
  EXPECT_EQ(plan.schedule.evaluate_every_steps, 0);
  EXPECT_TRUE(plan::is_evaluator(plan.rank_plan(4)));
  for (int rank = 0; rank < 4; ++rank) {
    const plan::RankPlan of_rank = plan.rank_plan(rank);
    EXPECT_FALSE(plan::is_evaluator(of_rank));
    EXPECT_LT(of_rank.program("evaluate"), 0);
    EXPECT_LT(of_rank.program("evaluate_tail"), 0);
  }
  EXPECT_EQ(plan::without_evaluators(plan).ranks, 4);
}

TEST(Evaluator, keeps_no_gradients_and_no_moments) {
  const plan::RankPlan plan = make_plan(evaluated())->rank_plan(4);
  EXPECT_TRUE(plan.buffer("params").valid());
  EXPECT_FALSE(plan.buffer("grads").valid());
  EXPECT_FALSE(plan.buffer("moment1").valid());
}

}  // namespace
}  // namespace trainyard::strategy
