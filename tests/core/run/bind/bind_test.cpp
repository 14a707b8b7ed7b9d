// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/compute/reference/reference.h"
#include "core/run/bind/bound_plan.h"
#include "core/run/bind/op_numbers.h"
#include "tests/problem_matchers.h"

namespace trainyard::run {
namespace {

// Rank that loads samples `times` times per step and does not use them.
plan::RankPlan loading(std::size_t times) {
  plan::Op load;
  load.kind = plan::OpKind::load;
  load.lane = plan::LaneId(0);
  plan::RankPlan rank;
  rank.rank = 3;
  rank.lanes = {{"input", plan::LaneKind::input, -1}};
  rank.programs = {{"train", 1, 1, 1, std::vector<plan::Op>(times, load)}};
  return rank;
}

base::Result<BoundPlan> bound(const plan::RankPlan& rank) {
  const auto compute = compute::reference::make();
  return bind(rank, {}, {}, {}, *compute, {}, {});
}

TEST(Bind, accepts_as_many_ops_as_an_event_can_number) {
  const auto plan = bound(loading(kMaxOps));
  ASSERT_TRUE(plan) << base::to_string(plan.error());
  const auto last = plan->programs[0].ops.size() - 1;
  EXPECT_EQ(decltype(telemetry::Event::subject)(last), last);
}

TEST(Bind, refuses_more_ops_than_an_event_can_number) {
  const auto plan = bound(loading(kMaxOps + 1));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, base::ProblemCode::bad_input);
  EXPECT_THAT(plan.error(), testing::AllOf(base::IsProblem("too_many_ops", "rank 3, program train"),
                                           base::Reports("65,537")));
}

}  // namespace
}  // namespace trainyard::run
