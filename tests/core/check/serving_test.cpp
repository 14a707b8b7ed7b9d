// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of parameter servers are proved; and one that is changed anywhere that matters is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "core/strategy/strategy.h"
#include "tests/core/check/breaking.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::check {
namespace {

using plan::OpKind;

plan::Plan served(experiment::ServerMode mode = experiment::ServerMode::asynchronous,
                  int workers = 3, int servers = 2) {
  experiment::Experiment e = strategy::small(workers + servers);
  for (int server = 0; server < servers; ++server)
    e.topology.hosts[0].devices[static_cast<std::size_t>(server)].role =
        topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.mode = mode;
  return strategy::make_plan(experiment::resolve(e, ".").value()).value();
}

// Returns the location of the first finding after one rank was changed.
std::string flaw(const plan::Plan& plan, std::int32_t rank,
                 const std::function<void(plan::RankPlan&)>& change) {
  std::vector<plan::RankPlan> ranks;
  for (std::int32_t r = 0; r < plan.ranks; ++r) ranks.push_back(plan.rank_plan(r));
  change(ranks[static_cast<std::size_t>(rank)]);
  const base::Problems problems =
      check(plan::from_ranks(plan.groups, plan.schedule, std::move(ranks)));
  return problems.empty() ? "" : located(problems.front());
}

plan::Op& op_of(plan::RankPlan& rank, OpKind kind, std::int32_t bucket) {
  for (plan::Program& program : rank.programs)
    for (plan::Op& op : program.ops)
      if (op.kind == kind && op.bucket == bucket) return op;
  throw std::runtime_error("no such op");
}

void drop(plan::RankPlan& rank, OpKind kind, std::int32_t bucket) {
  for (plan::Program& program : rank.programs)
    std::erase_if(program.ops,
                  [&](const plan::Op& op) { return op.kind == kind && op.bucket == bucket; });
}

TEST(Serving, of_every_mode_is_proved) {
  using experiment::ServerMode;
  for (const ServerMode mode :
       {ServerMode::asynchronous, ServerMode::synchronous, ServerMode::softsync,
        ServerMode::stale_synchronous, ServerMode::backup_workers}) {
    const base::Problems problems =
        check(served(mode, 3, mode == ServerMode::backup_workers ? 1 : 2));
    EXPECT_TRUE(problems.empty()) << base::name_of(mode) << ": "
                                  << (problems.empty() ? "" : base::to_string(problems.front()));
  }
  EXPECT_EQ(examine(served()).proofs, (std::vector{Proof::structure, Proof::serving}));
}

TEST(Serving, traffic_is_the_parameters_in_each_direction) {
  const plan::Plan plan = served();
  const plan::RankPlan worker = plan.rank_plan(0);
  const std::int64_t bytes = worker.buffers[worker.buffer("params").index()].bytes();
  const Report report = examine(plan);
  const auto traffic = [&](std::string_view program) {
    return *std::find_if(report.traffic.begin(), report.traffic.end(),
                         [&](const ProgramTraffic& one) { return one.program == program; });
  };
  EXPECT_EQ(traffic("train").bytes_from(0), bytes);
  EXPECT_EQ(traffic("turn").bytes_from(3) + traffic("turn").bytes_from(4), 3 * (bytes + 32))
      << "sent to three workers with one work assignment each";
}

TEST(Serving, finds_a_shard_that_is_not_pushed) {
  EXPECT_EQ(flaw(served(), 1, [](plan::RankPlan& rank) { drop(rank, OpKind::push, 0); }),
            "proof_serving at rank 1, program train");
}

TEST(Serving, finds_a_shard_that_is_not_pulled) {
  EXPECT_EQ(flaw(served(), 0, [](plan::RankPlan& rank) { drop(rank, OpKind::pull, 1); }),
            "proof_serving at rank 0, program train");
}

TEST(Serving, finds_a_shard_that_no_server_receives) {
  EXPECT_EQ(
      flaw(served(), 3,
           [](plan::RankPlan& rank) { drop(rank, OpKind::take, 0), drop(rank, OpKind::give, 0); }),
      "proof_serving at rank 0, program train");
}

TEST(Serving, finds_transfers_whose_ends_differ_in_length) {
  EXPECT_EQ(flaw(served(), 3,
                 [](plan::RankPlan& rank) { --op_of(rank, OpKind::give, 0).reads.front().count; }),
            "proof_serving at rank 0, program train");
}

TEST(Serving, finds_parameters_that_are_pulled_twice) {
  const auto twice = [](plan::RankPlan& rank) {
    op_of(rank, OpKind::pull, 1).writes.front().first -= 1;
  };
  EXPECT_EQ(flaw(served(), 2, twice), "proof_serving at rank 2, program turn");
}

TEST(Serving, finds_servers_with_different_rules) {
  EXPECT_EQ(flaw(served(), 4, [](plan::RankPlan& rank) { rank.rule->gradients_per_update = 2; }),
            "proof_serving at rank 4");
}

TEST(Serving, finds_a_rule_for_other_workers) {
  EXPECT_EQ(flaw(served(experiment::ServerMode::asynchronous, 3, 1), 3,
                 [](plan::RankPlan& rank) { rank.rule->workers = 4; }),
            "proof_serving at rank 3");
}

TEST(Serving, finds_an_update_of_more_gradients_than_workers) {
  EXPECT_EQ(flaw(served(experiment::ServerMode::asynchronous, 3, 1), 3,
                 [](plan::RankPlan& rank) { rank.rule->gradients_per_update = 4; }),
            "proof_serving at rank 3");
}

TEST(Serving, finds_a_server_op_on_a_worker) {
  EXPECT_EQ(flaw(served(), 0,
                 [](plan::RankPlan& rank) { op_of(rank, OpKind::pull, 0).kind = OpKind::take; }),
            "proof_structure at rank 0, program turn, op TAKE.b0<r3");
}

// The plan has a table; workers send the names of its rows.
plan::Plan with_table(int workers = 2, int servers = 2) {
  experiment::Experiment e = strategy::small_clicks(workers + servers);
  for (int server = 0; server < servers; ++server)
    e.topology.hosts[0].devices[static_cast<std::size_t>(server)].role =
        topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  return strategy::make_plan(experiment::resolve(e, ".").value()).value();
}

TEST(Serving, of_named_rows_is_proved) {
  for (const int servers : {1, 2, 3}) {
    const base::Problems problems = check(with_table(2, servers));
    EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : base::to_string(problems.front()));
  }
  const auto parsed = plan::parse(plan::to_text(with_table()));
  ASSERT_TRUE(parsed) << base::to_string(parsed.error());
  EXPECT_EQ(plan::to_text(*parsed), plan::to_text(with_table()));
}

TEST(Serving, with_delay_compensation_is_proved) {
  experiment::Experiment e = strategy::small(3);
  e.topology.hosts[0].devices[0].role = topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.delay_compensation = 0.5;
  const base::Problems problems =
      check(strategy::make_plan(experiment::resolve(e, ".").value()).value());
  EXPECT_TRUE(problems.empty()) << base::to_string(problems.front());
}

TEST(Serving, finds_rows_without_a_row_list) {
  EXPECT_EQ(
      flaw(with_table(), 0, [](plan::RankPlan& rank) { op_of(rank, OpKind::rows, 0).bucket = 7; }),
      "proof_serving at rank 0, program train, op PACK.b0");
  EXPECT_EQ(flaw(with_table(), 0,
                 [](plan::RankPlan& rank) {
                   op_of(rank, OpKind::pack, 0).reads.back() =
                       op_of(rank, OpKind::pack, 0).reads.front();
                 }),
            "proof_structure at rank 0, program train, op PACK.b0");
}

plan::Op& op_in(plan::RankPlan& rank, const char* program, OpKind kind, std::int32_t bucket) {
  for (plan::Op& op : rank.programs[static_cast<std::size_t>(rank.program(program))].ops)
    if (op.kind == kind && op.bucket == bucket) return op;
  throw std::runtime_error("no such op");
}

TEST(Serving, finds_rows_of_another_list_than_the_sent_one) {
  EXPECT_EQ(flaw(with_table(), 0,
                 [](plan::RankPlan& rank) {
                   plan::Op& list = op_in(rank, "turn", OpKind::push, 0);
                   --list.reads.front().first;
                 }),
            "proof_serving at rank 0, program turn, op PULL.b0<r2");
}

TEST(Serving, finds_packed_rows_of_another_shard_or_without_a_push) {
  EXPECT_EQ(flaw(with_table(), 0,
                 [](plan::RankPlan& rank) {
                   op_in(rank, "train", OpKind::pack, 0).reads.front().first += 4;
                 }),
            "proof_serving at rank 0, program train, op PACK.b0");
  EXPECT_EQ(flaw(with_table(), 0,
                 [](plan::RankPlan& rank) {
                   op_in(rank, "train", OpKind::push, 0).reads.front().buffer =
                       rank.buffer("grads");
                 }),
            "proof_serving at rank 0, program train, op PUSH.b0>r2");
}

TEST(Serving, finds_row_transfers_whose_ends_differ_in_length) {
  EXPECT_EQ(
      flaw(with_table(), 0, [](plan::RankPlan& rank) { op_of(rank, OpKind::pull, 0).row = 2; }),
      "proof_serving at rank 0, program train");
  EXPECT_EQ(
      flaw(with_table(), 0, [](plan::RankPlan& rank) { op_of(rank, OpKind::pull, 0).row = 5; }),
      "proof_structure at rank 0, program turn, op PULL.b0<r2");
}

TEST(Serving, finds_row_lists_whose_ends_differ_in_length) {
  EXPECT_EQ(
      flaw(with_table(), 1,
           [](plan::RankPlan& rank) {
             for (plan::Op& op : rank.programs[static_cast<std::size_t>(rank.program("turn"))].ops)
               if (op.kind == OpKind::push && op.bucket == 0) --op.reads.front().count;
           }),
      "proof_serving at rank 1, program train");
}

}  // namespace
}  // namespace trainyard::check
