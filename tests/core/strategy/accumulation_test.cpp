// SPDX-License-Identifier: GPL-3.0-or-later
// Steps of several micro-steps, and weights that are averaged, as plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/collective/expand.h"
#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using plan::OpKind;

// Batches of 4 in two micro-steps where `small` has batches of 8 in one: the same samples a step.
experiment::Experiment accumulating(int ranks, std::int64_t micro_steps = 2) {
  auto e = small(ranks);
  e.training.batch_per_rank = 8 / micro_steps;
  e.training.accumulation_steps = micro_steps;
  return e;
}

TEST(Accumulation, runs_forward_and_backward_per_micro_step_and_updates_once) {
  const plan::RankPlan rank = coarse_plan(resolved(accumulating(3))).value().rank_plan(1);
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::input), "LOAD.m0 LOAD.m1");
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "F.s0.m1 F.s1.m1 F.s2.m1 LOSS.m1 B.s2.m1 W.s2.m1 B.s1.m1 W.s1.m1 B.s0.m1 W.s0.m1 "
            "UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::comm), "AR.b0 AR.b1");
}

TEST(Accumulation, takes_the_samples_of_one_step_with_the_full_batch) {
  const auto parts = resolved(accumulating(3, 4)), whole = resolved(small(3));
  EXPECT_EQ(parts.global_batch, 24);
  EXPECT_EQ(parts.steps, whole.steps);
  EXPECT_EQ(parts.full_steps_per_epoch, whole.full_steps_per_epoch);
  EXPECT_EQ(parts.shards, whole.shards);
}

// 250 = 10 x 24 + 10: in the tail ranks take 4, 3 and 3 samples, of which three make a micro-step.
TEST(Accumulation, has_fewer_and_shorter_micro_steps_in_a_tail) {
  auto e = accumulating(3);
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = 3;
  e.data.train_samples = 27 * 9 + 10;
  const plan::Plan plan = coarse_plan(resolved(e)).value();
  EXPECT_EQ(tokens(plan.rank_plan(0), "train", plan::LaneKind::input), "LOAD.m0 LOAD.m1 LOAD.m2");
  EXPECT_EQ(tokens(plan.rank_plan(0), "tail", plan::LaneKind::input), "LOAD.m0 LOAD.m1");
  EXPECT_EQ(tokens(plan.rank_plan(1), "tail", plan::LaneKind::input), "LOAD.m0");
  const plan::RankPlan rank = plan.rank_plan(0);
  const auto samples = [&](std::size_t op) {
    return program_of(rank, "tail").ops[op].writes[1].count;
  };
  const auto& ops = program_of(rank, "tail").ops;
  const auto second = std::find_if(ops.begin(), ops.end(), [](const plan::Op& op) {
    return op.kind == OpKind::load && op.micro == 1;
  });
  EXPECT_EQ(samples(0), 3);
  EXPECT_EQ(samples(static_cast<std::size_t>(second - ops.begin())), 1);
}

// The step before a tail has more micro-steps than the tail, and reads its last samples later than
// the tail's own number of ops.
TEST(Accumulation, tail_waits_until_the_previous_micro_step_has_read_its_samples) {
  const plan::RankPlan rank = coarse_plan(resolved(accumulating(3, 4))).value().rank_plan(2);
  const auto waits = [&](const std::string& program) {
    return program_of(rank, program).ops.front().after;
  };
  EXPECT_EQ(waits("tail"), waits("train"));
  EXPECT_EQ(waits("tail").at(0).steps_back, 1);
}

TEST(Accumulation, overlaps_reduction_with_the_last_backward_pass_only) {
  const plan::RankPlan rank = coarse_plan(resolved(accumulating(2, 4))).value().rank_plan(0);
  const auto& ops = program_of(rank, "train").ops;
  const auto at = [&](const std::string& token) {
    return std::find_if(ops.begin(), ops.end(),
                        [&](const plan::Op& op) { return plan::token(op) == token; });
  };
  EXPECT_GT(at("AR.b0"), at("W.s1.m3"));
  EXPECT_LT(at("AR.b0"), at("B.s0.m3"));
}

TEST(Accumulation, sends_a_quarter_of_the_bytes_of_four_steps) {
  const auto bytes = [](const experiment::Experiment& e) {
    const plan::RankPlan rank = make_plan(resolved(e)).value().rank_plan(0);
    return collective::sent_bytes(rank, program_of(rank, "train"));
  };
  auto short_steps = small(3);
  short_steps.training.batch_per_rank = 2;
  EXPECT_EQ(bytes(accumulating(3, 4)), bytes(short_steps));
  EXPECT_EQ(resolved(short_steps).full_steps_per_epoch, 41);
  EXPECT_EQ(resolved(accumulating(3, 4)).full_steps_per_epoch, 10);
}

TEST(Accumulation, of_one_micro_step_equals_no_accumulation) {
  auto e = small(3);
  const std::string plain = plan::to_text(make_plan(resolved(e)).value());
  e.training.accumulation_steps = 1;
  EXPECT_EQ(plan::to_text(make_plan(resolved(e)).value()), plain);
  EXPECT_EQ(plain.find("micro_grads"), std::string::npos);
}

experiment::Experiment averaging_weights(int ranks) {
  auto e = small(ranks);
  e.strategy.average = experiment::AveragedQuantity::weights;
  return e;
}

TEST(WeightAverage, updates_and_weights_each_segment_when_its_gradient_is_ready) {
  const plan::RankPlan rank = coarse_plan(resolved(averaging_weights(3))).value().rank_plan(0);
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 UPD.s2 WEIGH.s2 B.s1.m0 W.s1.m0 "
            "UPD.s1 WEIGH.s1 B.s0.m0 W.s0.m0 UPD.s0 WEIGH.s0");
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::comm), "AR.b0 AR.b1");
  for (const plan::Buffer& buffer : rank.buffers)
    EXPECT_EQ(buffer.shared, buffer.name == "params") << buffer.name;
}

TEST(WeightAverage, clips_each_rank_by_its_local_norm) {
  auto e = averaging_weights(2);
  e.training.clip_norm = 1;
  const plan::RankPlan rank = coarse_plan(resolved(e)).value().rank_plan(0);
  EXPECT_EQ(tokens(rank, "train", plan::LaneKind::compute),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "NORM.s2 NORM.s1 NORM.s0 CLIP "
            "UPD.s2 WEIGH.s2 UPD.s1 WEIGH.s1 UPD.s0 WEIGH.s0");
}

TEST(WeightAverage, plan_of_one_rank_equals_one_device) {
  auto e = averaging_weights(1);
  const std::string text = plan::to_text(make_plan(resolved(e)).value());
  e.strategy.average = experiment::AveragedQuantity::gradients;
  EXPECT_EQ(text, plan::to_text(make_plan(resolved(e)).value()));
}

}  // namespace
}  // namespace trainyard::strategy
