// SPDX-License-Identifier: GPL-3.0-or-later
// Plans in mixed precision: what breaks the promise that layers compute by the parameters that are
// there is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/text.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::Experiment;
using experiment::Precision;
using plan::OpKind;

Victim mixed(Precision precision,
             experiment::StrategyKind kind = experiment::StrategyKind::mirrored) {
  Experiment e = strategy::small(2);
  e.strategy.kind = kind;
  e.training.precision = precision;
  return Victim(strategy::coarse_plan(strategy::resolved(e)).value());
}

// The first finding of casting.
std::string found_in_casting(const Victim& victim) {
  const Report report = examine(victim.plan());
  const auto at = std::find_if(report.findings.begin(), report.findings.end(),
                               [](const Finding& one) { return one.proof == Proof::casting; });
  return at == report.findings.end() ? "" : located(at->problem);
}

TEST(Casting, is_proved_if_the_plan_casts) {
  const Report report = examine(mixed(Precision::bf16).plan());
  EXPECT_EQ(base::to_string(report.problems()), "");
  EXPECT_THAT(report.proofs, testing::Contains(Proof::casting));
  EXPECT_THAT(examine(mixed(Precision::fp32).plan()).proofs,
              testing::Not(testing::Contains(Proof::casting)));
}

TEST(Casting, that_is_missing_is_found) {
  Victim victim = mixed(Precision::bf16);
  victim.remove(1, victim.first(1, [](const plan::Op& op) {
    return op.kind == OpKind::cast && op.segment == 1;
  }));
  EXPECT_EQ(found_in_casting(victim), "proof_casting at rank 1, program train, op F.s1.m0");
}

TEST(Casting, of_less_than_is_read_is_found) {
  Victim victim = mixed(Precision::bf16);
  plan::Op& cast = victim.op(0, "CAST.s2");
  cast.reads.front().count = --cast.writes.front().count;
  EXPECT_EQ(found_in_casting(victim), "proof_casting at rank 0, program train, op F.s2.m0");
}

TEST(Casting, of_values_that_change_before_they_are_read_is_found) {
  Victim victim = mixed(Precision::bf16);
  auto& ops = victim.train(0);
  const std::size_t update = victim.first(
      0, [](const plan::Op& op) { return op.kind == OpKind::update && op.segment == 2; });
  const std::size_t loss =
      victim.first(0, [](const plan::Op& op) { return op.kind == OpKind::loss; });
  ops[loss].writes.push_back(ops[update].writes.front());  // as if it were updated before
  EXPECT_EQ(found_in_casting(victim), "proof_casting at rank 0, program train, op B.s2.m0");
}

TEST(Casting, by_another_rank_is_found) {
  Victim victim = mixed(Precision::bf16);
  const plan::Access halves = victim.op(0, "CAST.s0").writes.front();
  victim.op(0, "F.s0.m0").writes.push_back(halves);
  EXPECT_EQ(found_in_casting(victim), "proof_casting at rank 0, program train, op F.s0.m0");
}

TEST(Casting, of_a_scaled_loss_requires_unscaling) {
  Victim victim = mixed(Precision::fp16);
  victim.op(0, "CLIP").reads.pop_back();
  EXPECT_EQ(found_in_casting(victim), "proof_casting at rank 0, program train, op CLIP");
  Victim early = mixed(Precision::fp16);
  auto& ops = early.train(1);
  std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(early.first(
                                1, [](const plan::Op& op) { return op.kind == OpKind::clip; })),
              ops.end() - 1, ops.end());
  EXPECT_EQ(found_in_casting(early), "proof_casting at rank 1, program train, op CLIP");
  Victim neither = mixed(Precision::fp16);
  std::erase_if(neither.train(0), [](const plan::Op& op) {
    return op.kind == plan::OpKind::clip || op.kind == plan::OpKind::scale;
  });
  EXPECT_EQ(found_in_casting(neither), "proof_casting at rank 0, program train, op UPD.s2");
}

}  // namespace
}  // namespace trainyard::check
