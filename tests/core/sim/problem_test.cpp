// SPDX-License-Identifier: GPL-3.0-or-later
// Plans and drawings that cannot be simulated: each is a Problem that says which rank and op.
#include <gmock/gmock.h>

#include "core/run/bind/op_numbers.h"
#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string problem(const plan::Plan& plan, const topology::Topology& drawing = star({}),
                    const Options& options = {}) {
  const auto outcome = simulate(plan, topology::Network(drawing), options);
  return outcome ? "" : outcome.error().id + " at " + outcome.error().where;
}
std::string text_of_problem(const plan::Plan& plan, const topology::Topology& drawing = star({})) {
  const auto outcome = simulate(plan, topology::Network(drawing), {});
  return outcome ? "" : outcome.error().what;
}

// The plan with one rank's part of it changed.
plan::Plan changed(const plan::Plan& plan, int rank,
                   const std::function<void(plan::RankPlan&)>& change) {
  plan::Plan made = plan;
  made.rank_plan = [=](std::int32_t r) {
    plan::RankPlan one = plan.rank_plan(r);
    if (r == rank) change(one);
    return one;
  };
  return made;
}

TEST(simulator_problem, a_rank_that_waits_for_ever_is_named_with_its_op) {
  const plan::Plan plan = changed(messages(2, 10, {{0, 1}}), 0,
                                  [](plan::RankPlan& rank) { rank.programs[0].ops.clear(); });
  EXPECT_EQ(problem(plan), "deadlock at plan");
  EXPECT_THAT(text_of_problem(plan), AllOf(HasSubstr("rank 1"), HasSubstr("RECV.b0.t0.c0<r0")));
}

TEST(simulator_problem, many_ranks_that_wait_are_counted) {
  const plan::Plan plan = changed(all_reduce(8, 80, collective::Algorithm::ring), 3,
                                  [](plan::RankPlan& rank) { rank.programs[0].ops.clear(); });
  EXPECT_EQ(problem(plan, star({.hosts = 8})), "deadlock at plan");
  EXPECT_THAT(text_of_problem(plan, star({.hosts = 8})), HasSubstr("; 3 other ranks"));
}

TEST(simulator_problem, dependencies_that_never_come_true_are_a_problem) {
  const plan::Plan plan = changed(replica({.ranks = 1}), 0, [](plan::RankPlan& rank) {
    rank.programs[0].ops[0].after = {{plan::LaneId(1), 1, 0}};
  });
  EXPECT_EQ(problem(plan), "deadlock at plan");
  EXPECT_THAT(text_of_problem(plan), HasSubstr("rank 0"));
}

TEST(simulator_problem, messages_that_do_not_match_are_a_problem) {
  const plan::Plan plan = changed(messages(2, 10, {{0, 1}}), 0,
                                  [](plan::RankPlan& rank) { rank.programs[0].ops[0].chunk = 5; });
  EXPECT_EQ(problem(plan), "messages_differ at rank 1, step 0");
  EXPECT_THAT(text_of_problem(plan), AllOf(HasSubstr("chunk 0 of 40 B from rank 0"),
                                           HasSubstr("bucket 0, round 0, chunk 5 of 40 B")));
}

TEST(simulator_problem, a_plan_that_is_not_expanded_is_refused) {
  const plan::Plan plan = changed(messages(2, 10, {{0, 1}}), 1, [](plan::RankPlan& rank) {
    rank.programs[0].ops[0].kind = plan::OpKind::all_reduce;
  });
  EXPECT_THAT(problem(plan), StartsWith("plan_not_expanded at rank 1, program "));
}

TEST(simulator_problem, peers_and_groups_that_are_none_are_refused) {
  const plan::Plan plan = messages(2, 10, {{0, 1}});
  for (const int peer : {-1, 0, 2})
    EXPECT_THAT(problem(changed(
                    plan, 0, [=](plan::RankPlan& rank) { rank.programs[0].ops[0].peer = peer; })),
                StartsWith("unknown_peer at rank 0, program "))
        << peer;
  for (const int group : {-1, 1})
    EXPECT_THAT(problem(changed(
                    plan, 0, [=](plan::RankPlan& rank) { rank.programs[0].ops[0].group = group; })),
                StartsWith("op_without_group at rank 0, program "))
        << group;
}

TEST(simulator_problem, more_ops_than_an_event_can_number_are_refused) {
  const plan::Plan plan = changed(replica({.ranks = 1}), 0, [](plan::RankPlan& rank) {
    const plan::Op load = rank.programs[0].ops.front();
    rank.programs[0].ops.assign(run::kMaxOps + 1, load);
  });
  EXPECT_EQ(problem(plan), "too_many_ops at rank 0, program train");
  EXPECT_THAT(text_of_problem(plan), HasSubstr("65,537 ops"));
}

TEST(simulator_problem, a_rank_without_the_program_of_a_step_is_a_problem) {
  EXPECT_EQ(problem(changed(replica({}), 1,
                            [](plan::RankPlan& rank) { rank.programs[0].name = "drill"; })),
            "unknown_program at rank 1");
}

TEST(simulator_problem, ranks_need_workers_and_routes) {
  EXPECT_EQ(problem(replica({.ranks = 3})), "too_few_devices at topology.hosts");
  topology::Topology apart = star({});
  apart.links.pop_back();
  EXPECT_THAT(text_of_problem(replica({}), apart), AllOf(HasSubstr("d0"), HasSubstr("d1")));
}

TEST(simulator_problem, no_step_is_nothing_to_simulate) {
  Options none;
  none.steps = 0;
  EXPECT_EQ(problem(replica({}), star({}), none), "no_steps at steps");
  EXPECT_EQ(problem(replica({.schedule = {0, 1, {}, 0}})), "no_steps at steps");
}

TEST(simulator_problem, speeds_that_never_end_are_a_problem) {
  EXPECT_EQ(problem(replica({.flops = 1'000'000'000'000'000'000}), star({.peak_flops = 1e3})),
            "virtual_time_too_long at topology");
  EXPECT_EQ(
      problem(messages(2, 1'000'000'000'000, {{0, 1}}), star({.bandwidth_bits_per_second = 1e3})),
      "virtual_time_too_long at topology");
}

}  // namespace
}  // namespace trainyard::sim
