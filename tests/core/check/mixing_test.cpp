// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of gossip are proved; and one that is changed anywhere that matters is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "core/experiment/mixing_matrix.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::GossipGraph;
using plan::Op;
using plan::OpKind;
using testing::Contains;

experiment::Experiment gossiping(int ranks, GossipGraph graph = GossipGraph::ring) {
  experiment::Experiment e = strategy::small(ranks);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.graph = graph;
  return e;
}

TEST(MixingMatrix, of_every_graph_is_proved_coarse_and_expanded) {
  for (const GossipGraph graph : {GossipGraph::ring, GossipGraph::exponential, GossipGraph::torus,
                                  GossipGraph::complete, GossipGraph::drawn})
    for (const int ranks : {2, 3, 6}) {
      experiment::Experiment e = gossiping(ranks, graph);
      EXPECT_EQ(first_finding(coarse(e)), "") << base::name_of(graph) << " of " << ranks;
      e.training.clip_norm = 1;
      e.training.accumulation_steps = 2;
      e.strategy.gossip.consensus_every_steps = 3;
      EXPECT_EQ(first_finding(expanded(e)), "") << base::name_of(graph) << " of " << ranks;
    }
  EXPECT_THAT(examine(expanded(gossiping(3)).plan()).proofs, Contains(Proof::mixing));
  EXPECT_THAT(examine(coarse(strategy::small(3)).plan()).proofs,
              testing::Not(Contains(Proof::mixing)));
}

// The weights in the plan are those of the matrix, whole numbers both.
TEST(MixingMatrix, of_the_experiment_is_in_the_plan) {
  const experiment::Experiment e = gossiping(6, GossipGraph::exponential);
  const experiment::MixingMatrix matrix = experiment::mixing(e);
  Victim victim = coarse(e);
  for (int rank = 0; rank < 6; ++rank)
    for (const Op& op : victim.train(static_cast<std::size_t>(rank))) {
      if (op.kind != OpKind::mix) continue;
      ASSERT_EQ(op.weights.denominator, matrix.denominator);
      ASSERT_EQ(op.summands.size(), matrix.neighbors(rank).size() + 1);
      for (std::size_t i = 0; i < op.summands.size(); ++i)
        EXPECT_EQ(op.weights.numerators[i], matrix.at(rank, op.summands[i]));
    }
}

TEST(MixingMatrix, traffic_is_the_parameters_once_per_neighbor) {
  const Victim victim = expanded(gossiping(5));
  const std::int64_t bytes =
      victim.ranks[0].buffers[victim.ranks[0].buffer("params").index()].bytes();
  const Report report = examine(victim.plan());
  ASSERT_EQ(report.traffic.front().program, "train");
  for (int rank = 0; rank < 5; ++rank)
    EXPECT_EQ(report.traffic.front().bytes_from(rank), 2 * bytes);
}

class BrokenMixing : public testing::Test {
 protected:
  Victim victim = expanded(gossiping(4));

  std::size_t mix(std::size_t rank, std::int32_t bucket = 0) {
    return victim.first(
        rank, [&](const Op& op) { return op.kind == OpKind::mix && op.bucket == bucket; });
  }
  std::set<Proof> failures() { return failed(victim); }
};

TEST_F(BrokenMixing, with_other_weights_of_one_rank_is_found) {
  victim.train(1)[mix(1)].weights.numerators = {1, 2, 1};
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 1, program train");
}

TEST_F(BrokenMixing, with_weights_that_do_not_sum_to_one_is_found) {
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (Op& op : victim.train(rank))
      if (op.kind == OpKind::mix) op.weights.denominator = 4;
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 0, program train");
}

TEST_F(BrokenMixing, with_asymmetric_weights_is_found) {
  for (Op& op : victim.train(1))
    if (op.kind == OpKind::mix) op.weights = {{1, 1, 0}, 2};
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 0, program train");
}

TEST_F(BrokenMixing, over_a_disconnected_graph_is_found) {
  const auto leave = [&](std::size_t rank, std::int64_t first, std::int64_t second,
                         std::int64_t third) {
    for (Op& op : victim.train(rank))
      if (op.kind == OpKind::mix) op.weights = {{first, second, third}, 2};
  };
  leave(0, 1, 1, 0), leave(1, 1, 1, 0), leave(2, 0, 1, 1),
      leave(3, 0, 1, 1);  // of 0 1 3, 0 1 2, 1 2 3 and 0 2 3
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 2, program train");
}

TEST_F(BrokenMixing, of_a_span_of_another_rank_is_found) {
  Op& op = victim.train(2)[mix(2)];
  std::swap(op.reads[0], op.reads[2]);
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 2, program train, op MIX.b0<r1,r2,r3");
}

TEST_F(BrokenMixing, with_an_update_from_local_parameters_is_found) {
  const plan::BufferId mixed = victim.ranks[0].buffer("mixed");
  for (Op& op : victim.train(0))
    if (op.kind == OpKind::update)
      std::erase_if(op.reads, [&](const plan::Access& read) { return read.buffer == mixed; });
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 0, program train, op UPD.s2");
}

TEST_F(BrokenMixing, that_starts_too_early_is_found) {
  Op& op = victim.train(3)[mix(3)];
  ASSERT_EQ(op.after.size(), 1u);
  op.after.clear();
  EXPECT_THAT(failures(), Contains(Proof::races));
}

TEST_F(BrokenMixing, with_an_update_before_neighbors_have_read_is_found) {
  for (Op& op : victim.train(3))
    if (op.kind == OpKind::update) op.after.clear();
  EXPECT_THAT(failures(), Contains(Proof::races));
}

TEST_F(BrokenMixing, with_a_send_before_the_update_is_found) {
  for (Op& op : victim.train(3))
    if (op.kind == OpKind::send) op.after.clear();
  EXPECT_THAT(failures(), Contains(Proof::races));
}

TEST_F(BrokenMixing, with_passes_by_updated_parameters_is_found) {
  auto& ops = victim.train(0);
  const auto last_pass = std::find_if(
      ops.rbegin(), ops.rend(), [](const Op& op) { return op.kind == OpKind::backward_input; });
  const auto update =
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == OpKind::update; });
  ASSERT_LT(last_pass.base() - ops.begin(), update - ops.begin());
  const plan::Access parameters = update->writes.front();
  Op late = *std::prev(last_pass.base());
  late.reads.push_back(parameters);
  ops.push_back(late);
  EXPECT_THAT(failures(), Contains(Proof::mixing));
}

TEST_F(BrokenMixing, of_another_part_of_the_mean_is_found) {
  for (plan::Program& program : victim.ranks[1].programs)
    for (Op& op : program.ops)
      if (program.name == "average" && op.kind == OpKind::mix && op.weights.numerators.size() == 1)
        op.weights.denominator = 5;
  EXPECT_EQ(failures(), std::set{Proof::mixing});
  EXPECT_EQ(first_finding(victim), "proof_mixing at rank 1, program average, op MIX.b0<r1");
}

TEST_F(BrokenMixing, with_weights_of_other_ops_or_too_few_violates_structure) {
  victim.train(0)[mix(0)].weights.numerators.pop_back();
  EXPECT_EQ(failures(), std::set{Proof::structure});
  Victim other = expanded(gossiping(4));
  other.train(0).front().weights.numerators = {1};
  EXPECT_EQ(failed(other), std::set{Proof::structure});
}

}  // namespace
}  // namespace trainyard::check
