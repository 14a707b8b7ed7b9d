// SPDX-License-Identifier: GPL-3.0-or-later
// Plans and drawings that cannot be simulated: each is a Problem that says which rank and op.
#include <gmock/gmock.h>

#include "core/run/bind/op_numbers.h"
#include "tests/core/sim/plans.h"
#include "tests/problem_matchers.h"

namespace trainyard::sim {
namespace {

using base::IsProblem;
using base::Reports;
using testing::AllOf;
using testing::StartsWith;

// The problem of the simulation, or one without an id when there is none.
base::Problem problem(const plan::Plan& plan, const topology::Topology& drawing = star({}),
                      const Options& options = {}) {
  const auto outcome = simulate(plan, topology::Network(drawing), options);
  return outcome ? base::Problem{} : outcome.error();
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

TEST(simulator_problem, names_a_rank_that_hangs_with_its_op) {
  const plan::Plan plan = changed(messages(2, 10, {{0, 1}}), 0,
                                  [](plan::RankPlan& rank) { rank.programs[0].ops.clear(); });
  EXPECT_THAT(problem(plan),
              AllOf(IsProblem("deadlock", "plan"), Reports("rank 1"), Reports("RECV.b0.t0.c0<r0")));
}

TEST(simulator_problem, counts_the_ranks_that_hang) {
  const plan::Plan plan = changed(all_reduce(8, 80, collective::Algorithm::ring), 3,
                                  [](plan::RankPlan& rank) { rank.programs[0].ops.clear(); });
  EXPECT_THAT(problem(plan, star({.hosts = 8})),
              AllOf(IsProblem("deadlock", "plan"), Reports("3 other ranks")));
}

TEST(simulator_problem, reports_unsatisfiable_dependencies) {
  const plan::Plan plan = changed(replica({.ranks = 1}), 0, [](plan::RankPlan& rank) {
    rank.programs[0].ops[0].after = {{plan::LaneId(1), 1, 0}};
  });
  EXPECT_THAT(problem(plan), AllOf(IsProblem("deadlock", "plan"), Reports("rank 0")));
}

TEST(simulator_problem, reports_messages_that_do_not_match) {
  const plan::Plan plan = changed(messages(2, 10, {{0, 1}}), 0,
                                  [](plan::RankPlan& rank) { rank.programs[0].ops[0].chunk = 5; });
  EXPECT_THAT(problem(plan),
              AllOf(IsProblem("messages_differ", "rank 1, step 0"), Reports("chunk 0 of 40 B"),
                    Reports("rank 0"), Reports("bucket 0, round 0, chunk 5 of 40 B")));
}

TEST(simulator_problem, reports_a_plan_that_is_not_expanded) {
  const plan::Plan plan = changed(messages(2, 10, {{0, 1}}), 1, [](plan::RankPlan& rank) {
    rank.programs[0].ops[0].kind = plan::OpKind::all_reduce;
  });
  EXPECT_THAT(problem(plan), IsProblem("plan_not_expanded", StartsWith("rank 1, program ")));
}

TEST(simulator_problem, reports_invalid_peers_and_groups) {
  const plan::Plan plan = messages(2, 10, {{0, 1}});
  for (const int peer : {-1, 0, 2})
    EXPECT_THAT(problem(changed(
                    plan, 0, [=](plan::RankPlan& rank) { rank.programs[0].ops[0].peer = peer; })),
                IsProblem("unknown_peer", StartsWith("rank 0, program ")))
        << peer;
  for (const int group : {-1, 1})
    EXPECT_THAT(problem(changed(
                    plan, 0, [=](plan::RankPlan& rank) { rank.programs[0].ops[0].group = group; })),
                IsProblem("op_without_group", StartsWith("rank 0, program ")))
        << group;
}

TEST(simulator_problem, reports_more_ops_than_an_event_can_number) {
  const plan::Plan plan = changed(replica({.ranks = 1}), 0, [](plan::RankPlan& rank) {
    const plan::Op load = rank.programs[0].ops.front();
    rank.programs[0].ops.assign(run::kMaxOps + 1, load);
  });
  EXPECT_THAT(problem(plan),
              AllOf(IsProblem("too_many_ops", "rank 0, program train"), Reports("65,537")));
}

TEST(simulator_problem, reports_a_rank_without_the_program_of_a_step) {
  EXPECT_THAT(problem(changed(replica({}), 1,
                              [](plan::RankPlan& rank) { rank.programs[0].name = "drill"; })),
              IsProblem("unknown_program", "rank 1"));
}

TEST(simulator_problem, reports_missing_devices_and_routes) {
  EXPECT_THAT(problem(replica({.ranks = 3})), IsProblem("too_few_devices", "topology.hosts"));
  topology::Topology apart = star({});
  apart.links.pop_back();
  EXPECT_THAT(problem(replica({}), apart),
              AllOf(IsProblem("no_route", "topology.links"), Reports("d0"), Reports("d1")));
}

TEST(simulator_problem, reports_zero_steps) {
  Options none;
  none.steps = 0;
  EXPECT_THAT(problem(replica({}), star({}), none), IsProblem("no_steps", "steps"));
  EXPECT_THAT(problem(replica({.schedule = {0, 1, {}, 0}})), IsProblem("no_steps", "steps"));
}

TEST(simulator_problem, reports_speeds_that_make_a_step_too_long) {
  EXPECT_THAT(problem(replica({.flops = 1'000'000'000'000'000'000}), star({.peak_flops = 1e3})),
              IsProblem("virtual_time_too_long", "topology"));
  EXPECT_THAT(
      problem(messages(2, 1'000'000'000'000, {{0, 1}}), star({.bandwidth_bits_per_second = 1e3})),
      IsProblem("virtual_time_too_long", "topology"));
}

}  // namespace
}  // namespace trainyard::sim
