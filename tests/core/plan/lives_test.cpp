// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/lives.h"

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
    for (const auto& [first, count] : touch.writes) op.writes.push_back({BufferId(0), first, count});
    rank.programs[0].ops.push_back(op);
  }
  return rank;
}

using Stretches = std::vector<Stretch>;

TEST(Lives, go_from_what_writes_to_the_last_that_reads) {
  const Lives lives(plan_of({{}, {{}, {{0, 10}}}, {}, {{{0, 10}}, {}}, {}}));
  EXPECT_EQ(lives.of(0, 0), (Stretches{{1, 3}}));
  EXPECT_EQ(lives.of(0, 1), Stretches{});
  EXPECT_TRUE(lives.begins_anew(0));
}

TEST(Lives, are_several_where_all_is_overwritten_before_it_is_read_again) {
  const Lives lives(plan_of({{{}, {{0, 10}}}, {{{0, 10}}, {}}, {}, {}, {{}, {{0, 10}}}, {{{0, 10}}, {}}}));
  EXPECT_EQ(lives.of(0, 0), (Stretches{{0, 1}, {4, 5}}));
}

TEST(Lives, go_on_while_any_element_is_wanted) {
  const Lives lives(plan_of({{{}, {{0, 10}}}, {{{0, 4}}, {}}, {}, {{}, {{0, 6}}}, {{{0, 10}}, {}}}));
  EXPECT_EQ(lives.of(0, 0), (Stretches{{0, 4}})) << "elements 6 to 9";
}

TEST(Lives, of_what_is_added_to_go_on) {
  const Lives lives(plan_of({{{}, {{0, 10}}}, {}, {{{0, 10}}, {{0, 10}}}, {}, {{{0, 10}}, {}}}));
  EXPECT_EQ(lives.of(0, 0), (Stretches{{0, 4}}));
}

TEST(Lives, that_begin_before_the_program_are_told) {
  EXPECT_FALSE(Lives(plan_of({{{{0, 10}}, {}}})).begins_anew(0));
  EXPECT_FALSE(Lives(plan_of({{{}, {{0, 9}}}, {{{0, 10}}, {}}})).begins_anew(0)) << "of one element";
}

TEST(Lives, of_what_only_the_host_reads_are_one) {
  const Lives lives(plan_of({{{}, {{0, 5}}}, {}, {{}, {{5, 5}}}}));
  EXPECT_EQ(lives.of(0, 0), (Stretches{{0, 2}}));
}

TEST(Lives, meet_where_an_op_needs_both) {
  RankPlan rank = plan_of({{{}, {{0, 10}}}, {{{0, 10}}, {}}, {}, {{}, {{0, 10}}}, {{{0, 10}}, {}}});
  auto& ops = rank.programs[0].ops;
  ops[2].writes = {{BufferId(1), 0, 10}};
  ops[2].reads = {{BufferId(1), 0, 10}};
  EXPECT_FALSE(Lives(rank).begins_anew(1));
  ops[2].reads.clear();
  EXPECT_FALSE(Lives(rank).meet(0, 1));
  ops[3].reads = {{BufferId(1), 0, 10}};
  EXPECT_TRUE(Lives(rank).meet(0, 1));
}

}  // namespace
}  // namespace trainyard::plan
