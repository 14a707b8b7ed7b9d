// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "core/plan/text.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {
namespace {

using experiment::PipelineSchedule;

plan::RankPlan expanded_rank_of(const experiment::Experiment& e, std::int32_t rank) {
  return make_plan(resolved(e)).value().rank_plan(rank);
}

std::string tokens_on(const plan::RankPlan& rank, plan::LaneKind lane) {
  std::string text;
  for (const plan::Op& op : rank.programs[0].ops)
    if (rank.lanes[op.lane.index()].kind == lane)
      text += (text.empty() ? "" : " ") + plan::token(op);
  return text;
}

// Segments 0, 1 and 2 with one on each rank.
TEST(Stages, pass_micro_batches_in_the_order_of_the_schedule) {
  const auto e = piped(small(3), PipelineSchedule::one_forward_one_backward, 3);
  EXPECT_EQ(tokens_on(expanded_rank_of(e, 1), plan::LaneKind::compute),
            "RATE F.s1.m0 F.s1.m1 B.s1.m0 W.s1.m0 F.s1.m2 B.s1.m1 W.s1.m1 B.s1.m2 W.s1.m2 UPD.s1");
  EXPECT_EQ(tokens_on(expanded_rank_of(e, 2), plan::LaneKind::compute),
            "RATE F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 F.s2.m1 LOSS.m1 B.s2.m1 W.s2.m1 F.s2.m2 LOSS.m2 "
            "B.s2.m2 W.s2.m2 UPD.s2");
  EXPECT_EQ(tokens_on(expanded_rank_of(e, 0), plan::LaneKind::send),
            "SEND.b0.t0.c0>r1 SEND.b1.t0.c0>r1 SEND.b2.t0.c0>r1");
  EXPECT_EQ(tokens_on(expanded_rank_of(e, 1), plan::LaneKind::input), "");
  EXPECT_EQ(tokens_on(expanded_rank_of(e, 2), plan::LaneKind::input), "LOAD.m0 LOAD.m1 LOAD.m2");
}

TEST(Stages, read_only_the_needed_parts_of_samples) {
  const auto e = piped(small(3), PipelineSchedule::gpipe);
  EXPECT_TRUE(expanded_rank_of(e, 0).buffer("input").valid());
  EXPECT_FALSE(expanded_rank_of(e, 0).buffer("labels").valid());
  EXPECT_FALSE(expanded_rank_of(e, 2).buffer("input").valid());
  EXPECT_TRUE(expanded_rank_of(e, 2).buffer("labels").valid());
}

TEST(Stages, count_samples_on_the_stage_of_the_loss) {
  const auto e = piped(small(3), PipelineSchedule::gpipe);
  for (const plan::Program& program : expanded_rank_of(e, 0).programs)
    EXPECT_EQ(program.samples, 0);
  for (const plan::Program& program : expanded_rank_of(e, 2).programs)
    EXPECT_GT(program.samples, 0);
}

// Buffers: as many outputs of a stage as micro-batches that the schedule holds; one more for
// received ones.
TEST(Stages, have_memory_for_their_micro_batches_in_flight) {
  const auto room = [](PipelineSchedule schedule, std::int32_t rank, const std::string& buffer,
                       std::int64_t width) {
    const plan::RankPlan plan = expanded_rank_of(piped(small(3), schedule, 8), rank);
    return plan.buffers[plan.buffer(buffer).index()].elements / (3 * width);
  };
  EXPECT_EQ(room(PipelineSchedule::gpipe, 0, "act.s0", 6), 8);
  EXPECT_EQ(room(PipelineSchedule::one_forward_one_backward, 0, "act.s0", 6), 3);
  EXPECT_EQ(room(PipelineSchedule::one_forward_one_backward, 1, "act.s1", 4), 2);
  EXPECT_EQ(room(PipelineSchedule::one_forward_one_backward, 1, "act.s0", 6), 3);
  EXPECT_EQ(room(PipelineSchedule::one_forward_one_backward, 2, "act.s2", 5), 1);
  EXPECT_EQ(room(PipelineSchedule::naive, 1, "act.s0", 6), 1);
}

}  // namespace
}  // namespace trainyard::strategy
