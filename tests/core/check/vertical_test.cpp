// SPDX-License-Identifier: GPL-3.0-or-later
// Plans by feature columns are proved; one whose ranks go on with less than the sum over all
// columns, or learn from less than all rows, is not.
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

// 7 columns, 6 outputs; gradients in one bucket, RS.b1 and AG.b2 of the first micro-step.
experiment::Experiment vertical(int ranks) {
  auto e = strategy::small(ranks);
  e.strategy.bucket_bytes = 1e9;
  e.data.sharding.kind = data::ShardingKind::vertical;
  return e;
}

experiment::Experiment any_vertical() {
  experiment::Experiment e = any_experiment(2 + plan::any_count(3));
  e.strategy.average = experiment::AveragedQuantity::gradients;
  e.strategy.kind = any_bool() ? experiment::StrategyKind::ddp : experiment::StrategyKind::mirrored;
  e.data.kind = data::DataKind::blobs;
  std::erase_if(e.model.layers, [](const model::LayerSpec& layer) {
    return layer.kind != model::LayerKind::linear && layer.kind != model::LayerKind::tanh;
  });
  while (e.model.layers.front().kind != model::LayerKind::linear)
    e.model.layers.erase(e.model.layers.begin());
  if (any_bool())
    e.model.layers.insert(e.model.layers.begin(),
                          {{model::LayerKind::linear, 3},
                           {.kind = model::LayerKind::batch_norm, .synchronized = true}});
  e.data.sharding.kind = data::ShardingKind::vertical;
  return e;
}

RC_GTEST_PROP(VerticalPlans, are_proved_coarse_and_expanded, ()) {
  const Victim plan = coarse(any_vertical());
  RC_LOG() << plan::to_text(plan.plan());
  RC_ASSERT(base::to_string(check(plan.plan())) == "");
  RC_ASSERT(base::to_string(check(plan.expanded(any_algorithm()).plan())) == "");
}

RC_GTEST_PROP(VerticalPlans, read_back_from_text, ()) {
  const std::string text =
      plan::to_text(strategy::make_plan(strategy::resolved(any_vertical())).value());
  const auto read = plan::parse(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(plan::to_text(*read) == text);
}

// Any exchange of rows, of any micro-step.
RC_GTEST_PROP(VerticalPlans, without_an_exchange_of_rows_violate_meaning, ()) {
  Victim victim = coarse(any_vertical());
  const OpTest exchanges = [](const Op& op) {
    return op.kind == OpKind::reduce_scatter || op.kind == OpKind::all_gather;
  };
  const auto all = victim.find(0, exchanges);
  const auto at = static_cast<std::size_t>(plan::any_count(static_cast<int>(all.size()) - 1));
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    victim.remove(rank, victim.find(rank, exchanges).at(at));
  if (any_bool()) victim = victim.expanded(any_algorithm());
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

// Its own columns, of any micro-step: others then add up what it made of the last, or of nothing.
RC_GTEST_PROP(VerticalPlans, in_which_a_rank_omits_its_columns_violate_meaning, ()) {
  Victim victim = coarse(any_vertical());
  const auto place = any_location(victim, is(OpKind::partial));
  victim.remove(place->rank, place->op);
  if (any_bool()) victim = victim.expanded(any_algorithm());
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(VerticalPlans, in_which_a_rank_sends_no_gradients_of_its_rows_violate_meaning, ()) {
  Victim victim = coarse(any_vertical());
  const auto place = any_location(
      victim, [](const Op& op) { return op.kind == OpKind::backward_input && op.segment == 0; });
  victim.remove(place->rank, place->op);
  if (any_bool()) victim = victim.expanded(any_algorithm());
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

// Columns are assigned wrongly: some twice, or some to no rank.
RC_GTEST_PROP(VerticalPlans, in_which_a_rank_has_other_columns_violate_meaning, ()) {
  Victim victim = coarse(any_vertical());
  const std::size_t rank = any_rank(victim);
  const bool moved = any_bool();
  for (Op& op : victim.train(rank)) {
    if (!op.columns.any()) continue;
    if (moved && op.columns.first > 0) --op.columns.first;
    else if (moved) ++op.columns.first;
    else ++op.columns.of;
  }
  RC_ASSERT(failed(victim).contains(Proof::meaning) || failed(victim).contains(Proof::structure));
}

TEST(VerticalPlan, with_unequal_micro_steps_and_empty_ranks_is_proved) {
  auto e = vertical(3);
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = 3;
  e.data.train_samples = 27 * 9 + 10;  // a tail of 4, 3 and 3
  EXPECT_EQ(first_finding(coarse(e)), "");
  for (const auto algorithm : collective::kAlgorithms)
    EXPECT_EQ(first_finding(coarse(e).expanded(algorithm)), "") << base::name_of(algorithm);
  e = vertical(12);
  e.data.features = 12;
  e.training.batch_per_rank = 2;  // a tail of 10: two ranks have none
  EXPECT_EQ(first_finding(coarse(e)), "");
  EXPECT_EQ(first_finding(coarse(e).expanded(collective::Algorithm::ring)), "");
}

TEST(VerticalPlan, that_continues_with_local_columns_violates_meaning) {
  Victim victim = coarse(vertical(2));
  for (std::size_t rank = 0; rank < 2; ++rank) victim.remove(rank, victim.first(rank, is("RS.b1")));
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op F.s0.m0");
}

TEST(VerticalPlan, that_trains_on_local_rows_only_violates_meaning) {
  Victim victim = coarse(vertical(2));
  for (std::size_t rank = 0; rank < 2; ++rank) victim.remove(rank, victim.first(rank, is("AG.b2")));
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op W.s0.m0");
}

// Reads rows other than the rank's shard of the sum, although the shard is there.
TEST(VerticalPlan, that_reads_other_rows_violates_meaning) {
  Victim victim = coarse(vertical(3));
  victim.op(1, "F.s0.m0").reads.front().first -= 6;
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 1, program train, op F.s0.m0");
  EXPECT_THAT(text_of_first_finding(victim), HasSubstr("pre.s0[48:96]"));
}

// Rows of 6 numbers: chunks that cut them give no rank its rows.
TEST(VerticalPlan, with_truncated_rows_violates_meaning) {
  auto e = vertical(3);
  e.data.train_samples = 24 + 10;
  Victim victim = coarse(e);
  for (plan::RankPlan& rank : victim.ranks)
    for (plan::Program& program : rank.programs)
      for (Op& op : program.ops) op.row = 1;
  EXPECT_TRUE(failed(victim).contains(Proof::meaning));
  victim = coarse(e);
  victim.op(0, "RS.b1").row = 7;
  EXPECT_EQ(failed(victim), ProofSet{Proof::structure});
}

TEST(VerticalPlan, that_sums_another_micro_step_violates_meaning) {
  auto e = vertical(2);
  e.training.accumulation_steps = 2;
  Victim victim = coarse(e);
  victim.op(1, "PART.s0.m1").micro = 0;
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 1, program train");
}

TEST(VerticalPlan, that_updates_other_columns_than_it_multiplies_violates_meaning) {
  Victim victim = coarse(vertical(2));
  victim.op(0, "W.s0.m0").columns.first += 1;
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train");
}

TEST(VerticalPlan, that_does_not_wait_for_its_rows_is_a_race) {
  for (const char* token : {"F.s0.m0", "W.s0.m0"}) {
    Victim victim = coarse(vertical(2));
    victim.op(0, token).after.clear();
    EXPECT_TRUE(failed(victim).contains(Proof::races)) << token;
  }
}

}  // namespace
}  // namespace trainyard::check
