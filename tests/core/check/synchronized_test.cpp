// SPDX-License-Identifier: GPL-3.0-or-later
// Plans with synchronized batch normalization are proved; one that normalizes by less than the sums
// over all ranks is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/plan/text.h"
#include "tests/core/check/break_together.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;
using testing::HasSubstr;

// Batch normalizations at segments 1 and 3; gradients in buckets, then AR.b? of segment 1 forward
// and backward, then of segment 3.
experiment::Experiment normalized(int ranks) {
  using model::LayerKind;
  auto e = strategy::small(ranks);
  e.model.layers = {{LayerKind::linear, 6}, {LayerKind::batch_norm, 0}, {LayerKind::tanh, 0},
                    {LayerKind::linear, 4}, {LayerKind::batch_norm, 0}, {LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 1e9;
  return strategy::synchronized(e);
}

plan::Access& access_of(Victim& victim, std::size_t rank, const std::string& token,
                        const std::string& buffer) {
  const plan::BufferId id = victim.ranks[rank].buffer(buffer);
  auto& reads = victim.op(rank, token).reads;
  return *std::find_if(reads.begin(), reads.end(),
                       [&](const plan::Access& access) { return access.buffer == id; });
}

experiment::Experiment any_synchronized() {
  using model::LayerKind;
  experiment::Experiment e = any_experiment(2 + plan::any_count(3));
  e.strategy.average = experiment::AveragedQuantity::gradients;
  e.strategy.kind = any_bool() ? experiment::StrategyKind::ddp : experiment::StrategyKind::mirrored;
  e.model.layers.insert(e.model.layers.end() - 1,
                        {{LayerKind::linear, 3}, {LayerKind::batch_norm, 0}});
  if (data::owns_columns(e.data.sharding))
    return strategy::synchronized(e);  // its first layer is linear
  if (any_bool()) e.model.layers.insert(e.model.layers.begin(), {LayerKind::batch_norm, 0});
  return strategy::synchronized(e);
}

RC_GTEST_PROP(SynchronizedPlans, are_proved_coarse_and_expanded, ()) {
  const Victim plan = coarse(any_synchronized());
  RC_LOG() << plan::to_text(plan.plan());
  RC_ASSERT(base::to_string(check(plan.plan())) == "");
  RC_ASSERT(base::to_string(check(plan.expanded(any_algorithm()).plan())) == "");
}

RC_GTEST_PROP(SynchronizedPlans, read_back_from_text, ()) {
  const std::string text =
      plan::to_text(strategy::make_plan(strategy::resolved(any_synchronized())).value());
  const auto read = plan::parse(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(plan::to_text(*read) == text);
}

// True if an op sums statistics of batch normalization.
OpTest sums_statistics(const Victim& victim, std::size_t rank) {
  return [&victim, rank](const Op& op) {
    return is_all_reduce(op) &&
           victim.ranks[rank].buffers[op.writes.front().buffer.index()].name.find("sums.s") !=
               std::string::npos;
  };
}

// Any of the sums, forward or backward, of any micro-step.
RC_GTEST_PROP(SynchronizedPlans, in_which_all_ranks_omit_a_sum_violate_meaning, ()) {
  Victim victim = coarse(any_synchronized());
  const auto all = victim.find(0, sums_statistics(victim, 0));
  const auto at = static_cast<std::size_t>(plan::any_count(static_cast<int>(all.size()) - 1));
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    victim.remove(rank, victim.find(rank, sums_statistics(victim, rank)).at(at));
  if (any_bool()) victim = victim.expanded(any_algorithm());
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(SynchronizedPlans, in_which_a_rank_omits_its_sums_violate_meaning, ()) {
  Victim victim = coarse(any_synchronized());
  const auto place =
      any_location(victim, [](const Op& op) { return op.kind == OpKind::statistics; });
  victim.remove(place->rank, place->op);
  if (any_bool()) victim = victim.expanded(any_algorithm());
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

TEST(Synchronized, plans_with_unequal_micro_steps_and_empty_ranks_are_proved) {
  auto e = normalized(3);
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = 3;
  e.data.train_samples = 27 * 9 + 10;  // a tail of 4, 3 and 3
  EXPECT_EQ(first_finding(coarse(e)), "");
  for (const auto algorithm : collective::kAlgorithms)
    EXPECT_EQ(first_finding(coarse(e).expanded(algorithm)), "") << base::name_of(algorithm);
  e = normalized(12);
  e.training.batch_per_rank = 2;  // a tail of 10
  EXPECT_EQ(first_finding(coarse(e)), "");
  EXPECT_EQ(first_finding(coarse(e).expanded(collective::Algorithm::ring)), "");
}

TEST(Synchronized, pass_that_reads_only_local_sums_violates_meaning) {
  std::set<std::string> readers;
  for (const std::string token : {"AR.b1", "AR.b2", "AR.b3", "AR.b4"}) {
    Victim victim = coarse(normalized(2));
    for (std::size_t rank = 0; rank < 2; ++rank) victim.remove(rank, victim.first(rank, is(token)));
    EXPECT_TRUE(failed(victim).contains(Proof::meaning)) << token;
    readers.insert(first_finding(victim));
  }
  const std::string place = "proof_meaning at rank 0, program train, op ";
  EXPECT_EQ(readers, (std::set<std::string>{place + "B.s1.m0", place + "B.s3.m0", place + "F.s1.m0",
                                            place + "F.s3.m0"}));
}

// Reads values other than the sum, although the sum is correct.
TEST(Synchronized, pass_that_reads_other_sums_violates_meaning) {
  Victim victim = coarse(normalized(2));
  victim.op(1, "F.s1.m0").reads.pop_back();
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 1, program train, op F.s1.m0");
  EXPECT_THAT(text_of_first_finding(victim), HasSubstr("sums.s1[0:13]"));

  victim = coarse(normalized(2));
  access_of(victim, 0, "W.s3.m0", "sums.s3").count = 8;
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
}

TEST(Synchronized, gradient_without_the_sums_violates_meaning) {
  Victim victim = coarse(normalized(2));
  const plan::BufferId sums = victim.ranks[0].buffer("gradient_sums.s3");
  std::erase_if(victim.op(0, "B.s3.m0").reads,
                [&](const plan::Access& access) { return access.buffer == sums; });
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op B.s3.m0");
}

// Ranks 0 and 1, and ranks 2 and 3, add up among themselves.
TEST(Synchronized, sums_over_some_of_the_ranks_violate_meaning) {
  Victim victim = coarse(normalized(4));
  victim.groups[1] = {{0, 1}};
  victim.groups.push_back({{2, 3}});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::int32_t half = rank < 2 ? 1 : 2;
    for (plan::Lane& lane : victim.ranks[rank].lanes)
      if (lane.group == 1) lane = {"comm.g" + std::to_string(half), plan::LaneKind::comm, half};
    for (plan::Program& program : victim.ranks[rank].programs)
      for (Op& op : program.ops)
        if (op.group == 1) op.group = half;
  }
  EXPECT_TRUE(failed(victim).contains(Proof::meaning));
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program tail, op F.s1.m0");
}

TEST(Synchronized, sums_of_another_micro_step_violate_meaning) {
  auto e = normalized(2);
  e.training.accumulation_steps = 2;
  Victim victim = coarse(e);
  for (std::size_t rank = 0; rank < 2; ++rank) victim.op(rank, "STAT.s1.m1").micro = 0;
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op F.s1.m1");
}

TEST(Synchronized, rank_without_samples_that_adds_no_zeros_violates_meaning) {
  auto e = normalized(12);
  e.training.batch_per_rank = 2;
  Victim victim = coarse(e);
  auto& tail =
      victim.ranks[11].programs[static_cast<std::size_t>(victim.ranks[11].program("tail"))].ops;
  const plan::BufferId sums = victim.ranks[11].buffer("gradient_sums.s1");
  for (Op& op : tail)
    if (op.kind == OpKind::zero)
      std::erase_if(op.writes, [&](const plan::Access& access) { return access.buffer == sums; });
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program tail, op B.s1.m0");
}

TEST(Synchronized, pass_that_does_not_wait_for_its_sums_is_a_race) {
  for (const char* token : {"F.s1.m0", "B.s1.m0", "F.s3.m0", "B.s3.m0"}) {
    Victim victim = coarse(normalized(2));
    victim.op(0, token).after.clear();
    EXPECT_TRUE(failed(victim).contains(Proof::races)) << token;
  }
}

// Peers may still read in place what the micro-step before summed. A layer that hands on a
// gradient, and the sum of gradients at the end of a step, would keep them together; a first layer
// has neither between its micro-steps.
TEST(Synchronized, sums_that_are_overwritten_while_peers_read_are_a_race) {
  auto e = normalized(3);
  e.model.layers = {{.kind = model::LayerKind::batch_norm, .synchronized = true},
                    {model::LayerKind::linear, 0}};
  e.training.accumulation_steps = 2;
  for (const auto algorithm :
       {collective::Algorithm::ring, collective::Algorithm::direct, collective::Algorithm::star}) {
    Victim victim = coarse(e).expanded(algorithm);
    EXPECT_EQ(failed(victim), ProofSet{}) << base::name_of(algorithm);
    for (std::size_t rank = 0; rank < 3; ++rank)
      std::erase_if(victim.op(rank, "STAT.s0.m1").after, [&](const auto& wait) {
        return victim.ranks[rank].lanes[wait.lane.index()].group == 1;
      });
    EXPECT_EQ(failed(victim), ProofSet{Proof::races}) << base::name_of(algorithm);
  }
}

}  // namespace
}  // namespace trainyard::check
