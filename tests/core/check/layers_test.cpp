// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of ranks that have some rows or columns of each layer: all that the strategy makes are
// proved, and what is broken in one is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;

experiment::Experiment split(experiment::Experiment e) {
  e.strategy.kind = experiment::StrategyKind::tensor_parallel;
  return e;
}

experiment::Experiment any_model_to_split(int ranks) {
  switch (*rc::gen::inRange(0, 5)) {
    case 0: return strategy::small_rows(ranks);
    case 1: return strategy::small(ranks);
    case 2: return strategy::small_tied_gpt(2);
    case 3: return strategy::small_clicks(ranks);
    default: return strategy::small_normalized_images(ranks);
  }
}

RC_GTEST_PROP(SplitPlans, of_any_model_are_proved, ()) {
  experiment::Experiment e = split(any_model_to_split(*rc::gen::inRange(2, 6)));
  e.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct,
                        collective::Algorithm::binary_tree);
  e.training.batch_per_rank = *rc::gen::inRange(2, 9);
  e.training.accumulation_steps = *rc::gen::inRange(1, 4);
  e.training.clip_norm = *rc::gen::element(0.0, 1.0);
  const auto made = strategy::resolved(e);
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(made).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::make_plan(made).value())) == "");
}

Victim whole() { return coarse(split(strategy::small_tied_gpt(2))); }

bool sums_gradient(const Op& op, const Victim& victim, std::size_t rank) {
  return op.kind == OpKind::all_reduce &&
         victim.ranks[rank].buffers[op.writes.front().buffer.index()].name.starts_with("grad.s");
}
bool sums_output(const Op& op, const Victim& victim, std::size_t rank) {
  return op.kind == OpKind::all_reduce &&
         victim.ranks[rank].buffers[op.writes.front().buffer.index()].name.starts_with("act.s");
}

TEST(BrokenLayers, outputs_or_gradients_without_a_sum_are_found) {
  for (const bool gradient : {false, true}) {
    Victim victim = whole();
    for (std::size_t rank = 0; rank < 2; ++rank)
      victim.remove(rank, victim.first(rank, [&](const Op& op) {
        return (gradient ? sums_gradient : sums_output)(op, victim, rank);
      }));
    EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train")) << gradient;
  }
}

TEST(BrokenLayers, logits_without_a_gather_are_found) {
  Victim victim = whole();
  for (std::size_t rank = 0; rank < 2; ++rank)
    victim.remove(rank, victim.first(rank, is(OpKind::all_gather)));
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train"));
}

TEST(BrokenLayers, columns_with_no_owner_or_two_are_found) {
  Victim gap = whole();
  Op& less = gap.train(1)[gap.first(1, is(OpKind::partial))];
  --less.columns.count;
  EXPECT_TRUE(is_found(gap, "proof_meaning at rank 1, program train"));
  Victim twice = whole();
  Op& again = twice.train(1)[twice.first(1, is(OpKind::softmax))];
  --again.columns.first;
  EXPECT_TRUE(is_found(twice, "proof_meaning at rank 1, program train"));
}

TEST(BrokenLayers, rank_without_a_contribution_is_found) {
  Victim victim = whole();
  const std::size_t second = victim.find(1, is(OpKind::partial)).at(1);
  victim.train(1)[second].kind = OpKind::forward;
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train"));
}

// Removes the dependency of the next layer on a sum, so that the sum is read before it is complete.
TEST(BrokenLayers, part_used_as_the_sum_is_found) {
  Victim victim = whole();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::size_t sum =
        victim.first(rank, [&](const Op& op) { return sums_output(op, victim, rank); });
    auto& ops = victim.train(rank);
    std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(sum),
                ops.begin() + static_cast<std::ptrdiff_t>(sum) + 1,
                ops.begin() + static_cast<std::ptrdiff_t>(sum) + 2);
    ops[sum].after.clear();  // what reads the sum goes first
    ops[sum + 1].after = {{plan::LaneId(1), 3, 0}};
  }
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train, op F.s1.m0"));
}

TEST(BrokenLayers, missing_addition_is_found) {
  Victim victim = whole().expanded(collective::Algorithm::ring);
  Op& receives = victim.train(1)[victim.first(1, adds)];
  receives.kind = OpKind::recv;
  receives.reads.clear();
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train, op F.s1.m0"));
}

}  // namespace
}  // namespace trainyard::check
