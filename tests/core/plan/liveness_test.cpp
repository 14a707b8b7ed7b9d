// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/liveness.h"

#include <gtest/gtest.h>

namespace trainyard::plan {
namespace {

// Two buffers of ten elements; ops that read and write spans of the first.
struct Touch {
  std::vector<std::pair<std::int64_t, std::int64_t>> reads, writes;  // first, count
};

RankPlan plan_of(const std::vector<Touch>& touches) {
  RankPlan rank;
  rank.lanes = {{"compute", LaneKind::compute, -1}};
  rank.buffers = {{"a", base::DType::fp32, 10}, {"b", base::DType::fp32, 10}};
  rank.programs = {{"train", 1, 1, 1, {}}};
  for (const Touch& touch : touches) {
    Op op;
    op.lane = LaneId(0);
    for (const auto& [first, count] : touch.reads) op.reads.push_back({BufferId(0), first, count});
    for (const auto& [first, count] : touch.writes)
      op.writes.push_back({BufferId(0), first, count});
    rank.programs[0].ops.push_back(op);
  }
  return rank;
}

using Ranges = std::vector<OpRange>;

TEST(Liveness, range_goes_from_the_write_to_the_last_read) {
  const Liveness lives(plan_of({{}, {{}, {{0, 10}}}, {}, {{{0, 10}}, {}}, {}}));
  EXPECT_EQ(lives.of(0, 0), (Ranges{{1, 3}}));
  EXPECT_EQ(lives.of(0, 1), Ranges{});
  EXPECT_TRUE(lives.is_written_first(0));
}

TEST(Liveness, has_several_ranges_if_all_is_overwritten_before_a_read) {
  const Liveness lives(
      plan_of({{{}, {{0, 10}}}, {{{0, 10}}, {}}, {}, {}, {{}, {{0, 10}}}, {{{0, 10}}, {}}}));
  EXPECT_EQ(lives.of(0, 0), (Ranges{{0, 1}, {4, 5}}));
}

TEST(Liveness, continues_while_any_element_is_needed) {
  const Liveness lives(
      plan_of({{{}, {{0, 10}}}, {{{0, 4}}, {}}, {}, {{}, {{0, 6}}}, {{{0, 10}}, {}}}));
  EXPECT_EQ(lives.of(0, 0), (Ranges{{0, 4}})) << "elements 6 to 9";
}

TEST(Liveness, continues_while_values_are_accumulated) {
  const Liveness lives(plan_of({{{}, {{0, 10}}}, {}, {{{0, 10}}, {{0, 10}}}, {}, {{{0, 10}}, {}}}));
  EXPECT_EQ(lives.of(0, 0), (Ranges{{0, 4}}));
}

TEST(Liveness, reports_values_from_before_the_program) {
  EXPECT_FALSE(Liveness(plan_of({{{{0, 10}}, {}}})).is_written_first(0));
  EXPECT_FALSE(Liveness(plan_of({{{}, {{0, 9}}}, {{{0, 10}}, {}}})).is_written_first(0))
      << "of one element";
}

TEST(Liveness, has_one_range_for_values_that_only_the_host_reads) {
  const Liveness lives(plan_of({{{}, {{0, 5}}}, {}, {{}, {{5, 5}}}}));
  EXPECT_EQ(lives.of(0, 0), (Ranges{{0, 2}}));
}

TEST(Liveness, ranges_overlap_if_an_op_needs_both) {
  RankPlan rank = plan_of({{{}, {{0, 10}}}, {{{0, 10}}, {}}, {}, {{}, {{0, 10}}}, {{{0, 10}}, {}}});
  auto& ops = rank.programs[0].ops;
  ops[2].writes = {{BufferId(1), 0, 10}};
  ops[2].reads = {{BufferId(1), 0, 10}};
  EXPECT_FALSE(Liveness(rank).is_written_first(1));
  ops[2].reads.clear();
  EXPECT_FALSE(Liveness(rank).meet(0, 1));
  ops[3].reads = {{BufferId(1), 0, 10}};
  EXPECT_TRUE(Liveness(rank).meet(0, 1));
}

// Plan in which the third of ten compute ops writes `a`, and the ninth reads it, with OUT and IN
// and their dependencies.
RankPlan offloaded(std::int32_t out_from, std::size_t out_until, std::int32_t in_from) {
  RankPlan rank = plan_of(std::vector<Touch>(10));
  rank.lanes.push_back({"copy", LaneKind::copy, -1});
  std::vector<Op>& ops = rank.programs[0].ops;
  ops[2].writes = {{BufferId(0), 0, 10}};
  ops[8].reads = {{BufferId(0), 0, 10}};
  ops[8].after = {{LaneId(1), 2, 0}};
  if (out_until > 0) ops[out_until].after = {{LaneId(1), 1, 0}};
  Op out, in;
  out.kind = OpKind::offload, in.kind = OpKind::fetch;
  out.lane = in.lane = LaneId(1);
  out.reads = in.writes = {{BufferId(0), 0, 10}};
  out.after = {{LaneId(0), out_from, 0}};
  in.after = {{LaneId(0), in_from, 0}};
  ops.insert(ops.begin() + 7, in);
  ops.insert(ops.begin() + 3, out);
  return rank;
}

// OUT stands at 3, and IN at 8.
TEST(Liveness, of_offloaded_values_excludes_the_time_between_copies) {
  const Liveness lives(offloaded(3, 5, 6));
  EXPECT_EQ(lives.of(0, 0), (Ranges{{2, 5}, {7, 10}}))
      << "OUT is over when the sixth compute op begins, which is at 6; IN may begin after it";
  EXPECT_TRUE(lives.is_written_first(0));
}

TEST(Liveness, has_one_range_if_nothing_waits_for_a_copy) {
  EXPECT_EQ(Liveness(offloaded(3, 0, 6)).of(0, 0), (Ranges{{2, 10}}))
      << "OUT is only known to be over when IN is";
  EXPECT_EQ(Liveness(offloaded(3, 5, 3)).of(0, 0), (Ranges{{2, 10}}))
      << "IN may begin as soon as OUT is over";
}

TEST(Liveness, has_no_start_if_a_copy_may_outlast_the_program) {
  RankPlan rank = offloaded(3, 5, 6);
  rank.programs[0].ops[10].after = {};
  EXPECT_FALSE(Liveness(rank).is_written_first(0));
  RankPlan early = offloaded(3, 5, 6);
  early.programs[0].ops[3].after = {};
  EXPECT_FALSE(Liveness(early).is_written_first(0)) << "it may start during the previous step";
}

}  // namespace
}  // namespace trainyard::plan
