// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of asynchronous gossip are proved; and one that is changed anywhere that matters is not.
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

using experiment::GossipGraph;
using plan::Op;
using plan::OpKind;
using plan::RankPlan;

experiment::Experiment in_pairs(int ranks, GossipGraph graph = GossipGraph::ring) {
  experiment::Experiment e = strategy::small(ranks);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.mode = experiment::GossipMode::asynchronous;
  e.strategy.gossip.graph = graph;
  return e;
}

plan::Plan made(const experiment::Experiment& e) {
  return strategy::make_plan(experiment::resolve(e, ".").value()).value();
}

// Returns all findings after some ranks were changed. Ranks 0 and 2 ask, 1 and 3 answer.
std::string flaw(const std::function<void(std::vector<RankPlan>&)>& change) {
  const plan::Plan plan = made(in_pairs(4));
  std::vector<RankPlan> ranks;
  for (std::int32_t r = 0; r < plan.ranks; ++r) ranks.push_back(plan.rank_plan(r));
  change(ranks);
  const base::Problems problems =
      check(plan::from_ranks(plan.groups, plan.schedule, std::move(ranks)));
  const auto of_pairing = std::find_if(problems.begin(), problems.end(), [](const auto& problem) {
    return problem.id == "proof_pairing";
  });
  if (of_pairing != problems.end()) return located(*of_pairing);
  return problems.empty() ? "" : located(problems.front());
}

plan::Program& program(RankPlan& rank, const char* name) {
  return rank.programs[static_cast<std::size_t>(rank.program(name))];
}
Op& op_of(RankPlan& rank, const char* name, OpKind kind) {
  for (Op& op : program(rank, name).ops)
    if (op.kind == kind) return op;
  throw std::runtime_error("no such op");
}

TEST(GossipPairsProof, accepts_every_bipartite_graph) {
  for (const auto& [ranks, graph] : {std::pair{2, GossipGraph::ring},
                                     {2, GossipGraph::complete},
                                     {4, GossipGraph::ring},
                                     {6, GossipGraph::ring},
                                     {4, GossipGraph::torus},
                                     {2, GossipGraph::exponential}}) {
    experiment::Experiment e = in_pairs(ranks, graph);
    e.training.clip_norm = 1;
    e.training.accumulation_steps = 2;
    e.strategy.gossip.consensus_every_steps = 3;
    const base::Problems problems = check(made(e));
    EXPECT_TRUE(problems.empty()) << ranks << ": "
                                  << (problems.empty() ? "" : base::to_string(problems.front()));
  }
  const Report report = examine(made(in_pairs(4)));
  EXPECT_THAT(report.proofs,
              testing::AllOf(testing::Contains(Proof::gossip_pairs),
                             testing::Contains(Proof::deadlock), testing::Contains(Proof::races),
                             testing::Not(testing::Contains(Proof::mixing))));
}

TEST(GossipPairsProof, accepts_plans_that_exchange_parameters_with_one_neighbor) {
  const plan::Plan plan = made(in_pairs(4));
  const std::int64_t bytes =
      plan.rank_plan(0).buffers[plan.rank_plan(0).buffer("params").index()].bytes();
  const Report report = examine(plan);
  ASSERT_EQ(report.traffic.front().program, "train");
  EXPECT_EQ(report.traffic.front().bytes_from(0), bytes);
  EXPECT_EQ(report.traffic.front().bytes_from(1) + report.traffic.front().bytes_from(3), 2 * bytes);
}

TEST(GossipPairsProof, finds_two_ranks_that_ask_each_other) {
  EXPECT_EQ(flaw([](auto& ranks) {
              ranks[1].pairs.push_back({1, {0}, 1});
            }),
            "proof_pairing at rank 1");
}

TEST(GossipPairsProof, finds_ends_that_disagree) {
  EXPECT_EQ(flaw([](auto& ranks) { ranks[1].pairs[0].seed = 99; }), "proof_pairing at rank 1");
  EXPECT_EQ(flaw([](auto& ranks) { ranks[1].pairs.erase(ranks[1].pairs.begin()); }),
            "proof_pairing at rank 1");
  EXPECT_EQ(flaw([](auto& ranks) { ranks[1].pairs[0].passive = {3}; }), "proof_pairing at rank 1");
  EXPECT_EQ(flaw([](auto& ranks) {
              ranks[0].pairs[0].passive = {1, 77};
            }),
            "proof_pairing at rank 0");
}

TEST(GossipPairsProof, finds_disconnected_ranks) {
  EXPECT_EQ(
      flaw([](auto& ranks) {
        ranks[0].pairs = {{0, {1}, 1}}, ranks[1].pairs = {{0, {1}, 1}},
        ranks[2].pairs = {{2, {3}, 1}}, ranks[3].pairs = {{2, {3}, 1}};
        std::erase_if(program(ranks[1], "answer").ops, [](const Op& op) { return op.peer == 2; });
        std::erase_if(program(ranks[3], "answer").ops, [](const Op& op) { return op.peer == 0; });
      }),
      "proof_pairing at rank 2");
}

// A receive in its step would make it wait for a neighbor that may wait for it.
TEST(GossipPairsProof, finds_a_rank_that_answers_and_waits_within_its_step) {
  EXPECT_EQ(flaw([](auto& ranks) {
              Op turned = op_of(ranks[1], "answer", OpKind::answer);
              program(ranks[1], "train").ops.push_back(turned);
            }),
            "proof_pairing at rank 1, program train, op ANSWER<r0");
}

TEST(GossipPairsProof, finds_passes_with_parameters_that_an_answer_may_change) {
  EXPECT_EQ(flaw([](auto& ranks) {
              for (plan::Access& read : op_of(ranks[1], "train", OpKind::forward).reads)
                if (read.buffer == ranks[1].buffer("snapshot"))
                  read.buffer = ranks[1].buffer("params");
            }),
            "proof_pairing at rank 1, program train, op F.s0.m0");
  EXPECT_EQ(flaw([](auto& ranks) {
              std::erase_if(program(ranks[1], "train").ops,
                            [](const Op& op) { return op.kind == OpKind::mix; });
            }),
            "proof_pairing at rank 1, program train, op F.s0.m0");
}

TEST(GossipPairsProof, finds_weights_other_than_one_half) {
  EXPECT_EQ(flaw([](auto& ranks) {
              op_of(ranks[1], "answer", OpKind::answer).weights = {{1, 2}, 3};
            }),
            "proof_pairing at rank 1, program answer, op ANSWER<r0");
}

TEST(GossipPairsProof, finds_a_part_that_is_not_averaged) {
  EXPECT_EQ(
      flaw([](auto& ranks) { --op_of(ranks[1], "answer", OpKind::answer).reads.front().count; }),
      "proof_pairing at rank 1, program answer, op ANSWER<r0");
  EXPECT_EQ(
      flaw([](auto& ranks) { --op_of(ranks[0], "train", OpKind::offer).reads.front().count; }),
      "proof_pairing at rank 0, program train, op OFFER");
  EXPECT_EQ(
      flaw([](auto& ranks) { --op_of(ranks[0], "train", OpKind::agree).writes.front().count; }),
      "proof_pairing at rank 0, program train, op AGREE");
}

TEST(GossipPairsProof, finds_answers_from_the_wrong_position) {
  EXPECT_EQ(flaw([](auto& ranks) {
              auto& ops = program(ranks[1], "answer").ops;
              ops[1].writes.back() = ops[0].writes.back();
            }),
            "proof_pairing at rank 1, program answer, op ANSWER<r2");
}

TEST(GossipPairsProof, finds_a_step_that_does_not_start_from_the_answer) {
  EXPECT_EQ(flaw([](auto& ranks) {
              for (Op& op : program(ranks[0], "train").ops)
                if (op.kind == OpKind::update)
                  std::erase_if(op.reads, [&](const plan::Access& read) {
                    return read.buffer == ranks[0].buffer("mixed");
                  });
            }),
            "proof_pairing at rank 0, program train, op UPD.s2");
  EXPECT_THAT(flaw([](auto& ranks) {
                std::erase_if(program(ranks[0], "train").ops,
                              [](const Op& op) { return op.kind == OpKind::offer; });
              }),
              testing::Not(testing::IsEmpty()));
}

// Nothing that comes back may be overwritten, nor what is offered, before it was read.
TEST(GossipPairsProof, finds_an_update_that_does_not_wait_for_its_partner) {
  EXPECT_EQ(flaw([](auto& ranks) {
              for (Op& op : program(ranks[0], "train").ops)
                if (op.kind == OpKind::update) op.after.clear();
            }),
            "proof_race at rank 0, program train, op UPD.s2");
}

TEST(GossipPairsProof, finds_an_op_on_the_wrong_side) {
  EXPECT_EQ(flaw([](auto& ranks) {
              ranks[0].pairs = {{1, {0}, 1}};
            }),
            "proof_structure at rank 0, program train, op OFFER");
}

}  // namespace
}  // namespace trainyard::check
