// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/dry_run.h"
#include "core/plan/text.h"

namespace trainyard::plan {
namespace {

using testing::HasSubstr;

std::string rank(int number, const std::string& ops) {
  return "rank " + std::to_string(number) +
         "\nlane compute compute\nlane send send g0\nlane recv recv g0\nbuffer b fp32 8 "
         "shared\nprogram train samples 1 of 2\n" +
         ops;
}
Plan two(const std::string& first, const std::string& second) {
  return parse("plan 1\nschedule steps 1 full 1\ngroup g0: 0 1\n" + rank(0, first) +
               rank(1, second))
      .value();
}

Plan exchange() {
  return two(
      "W.s0 @compute\nSEND.b0.t0.c0>r1 @send group g0 reads b after compute:1\nUPD.s0 @compute "
      "after send:1\n",
      "RECV.b0.t0.c0<r0 @recv group g0 writes b\nUPD.s0 @compute after recv:1\n");
}

TEST(Grid, shows_ranks_and_lanes_over_time) {
  EXPECT_THAT(grid(exchange(), "train"),
              testing::StartsWith("r0 compute  W.s0              .                 UPD.s0\n"
                                  "r0 send     .                 SEND.b0.t0.c0>r1  .\n"
                                  "r1 compute  .                 .                 UPD.s0\n"
                                  "r1 recv     RECV.b0.t0.c0<r0  ~                 .\n"));
}

TEST(Grid, marks_the_given_op) {
  EXPECT_THAT(grid(exchange(), "train", Mark{1, 1}),
              testing::AllOf(HasSubstr(">UPD.s0<\n"), HasSubstr("> < ")));
}

TEST(Grid, shows_ops_that_never_end_or_never_start) {
  const Plan stuck = two("SEND.b0.t0.c0>r1 @send group g0 reads b\nUPD.s0 @compute after send:1\n",
                         "W.s0 @compute\n");
  EXPECT_THAT(grid(stuck, "train", Mark{0, 0}),
              testing::AllOf(testing::StartsWith("r0 compute  .                    UPD.s0?\n"
                                                 "r0 send     >SEND.b0.t0.c0>r1!<  .\n"
                                                 "r1 compute  W.s0                 .\n"),
                             HasSubstr(", ! "), HasSubstr(", ? "), HasSubstr(", > < ")));
}

TEST(Grid, with_many_columns_and_ranks_shows_those_around_the_mark) {
  std::string text = "plan 1\nschedule steps 1 full 1\n";
  for (int r = 0; r < 12; ++r) {
    text += "rank " + std::to_string(r) + "\nlane compute compute\nprogram train samples 1 of 12\n";
    for (int s = 0; s < 40; ++s) text += "F.s" + std::to_string(s) + " @compute\n";
  }
  const std::string drawn = grid(parse(text).value(), "train", Mark{5, 20});
  EXPECT_THAT(drawn, testing::AllOf(HasSubstr("r2 compute"), HasSubstr("r8 compute"),
                                    HasSubstr(">F.s20<"), HasSubstr("12 to 28 of 40")));
  EXPECT_THAT(drawn, testing::Not(testing::AnyOf(HasSubstr("r1 "), HasSubstr("r9 "),
                                                 HasSubstr("F.s11"), HasSubstr("F.s29"))));
}

TEST(DryRun, completes_a_send_with_its_receive) {
  const Plan plan = exchange();
  const DryRun run = dry_run({plan.rank_plan(0), plan.rank_plan(1)}, plan.groups, {{0}, {0}});
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.ticks, 3);
  EXPECT_EQ(run.place({1, 2, 0}).begin, 0);
  EXPECT_EQ(run.place({1, 2, 0}).end, 1);
  EXPECT_EQ(run.place({0, 1, 0}).end, 1);
  ASSERT_EQ(run.sources.size(), 1u);
  EXPECT_EQ(run.sources[0].rank, 0);
}

TEST(DryRun, all_reduce_waits_for_every_member) {
  const std::string lanes =
      "lane compute compute\nlane comm comm g0\nbuffer b fp32 8\nprogram train samples 1 of 3\n";
  std::string text = "plan 1\nschedule steps 1 full 1\ngroup g0: 0 1 2\n";
  for (int r = 0; r < 3; ++r) {
    text += "rank " + std::to_string(r) + "\n" + lanes;
    for (int s = 0; s <= 2 * r; ++s) text += "W.s" + std::to_string(s) + " @compute\n";
    text +=
        "AR.b0 @comm group g0 reads b writes b after compute:" + std::to_string(2 * r + 1) + "\n";
  }
  const Plan plan = parse(text).value();
  const DryRun run = dry_run({plan.rank_plan(0), plan.rank_plan(1), plan.rank_plan(2)}, plan.groups,
                             {{0}, {0}, {0}});
  ASSERT_TRUE(run.complete);
  for (std::int32_t r = 0; r < 3; ++r) {
    EXPECT_EQ(run.place({r, 1, 0}).begin, 2 * r + 1);
    EXPECT_EQ(run.place({r, 1, 0}).end, 5);
  }
}

}  // namespace
}  // namespace trainyard::plan
