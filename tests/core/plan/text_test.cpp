// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/random.h"
#include "tests/core/plan/any_plan.h"

namespace trainyard::plan {
namespace {

const std::string kSmall =
    "plan 1\n"
    "schedule steps 310 full 62 tail evaluate 63\n"
    "group g0: 0 1\n"
    "rank 0\n"
    "lane input input\n"
    "lane compute compute\n"
    "lane send.g0 send g0\n"
    "buffer input fp32 224\n"
    "buffer grads fp32 101770 shared\n"
    "program train samples 32 of 64\n"
    "LOAD.m0 @input writes input after compute:5@-1\n"
    "F.s0.m0 @compute reads input grads[0:100480] writes input flops 6430720 after input:1\n"
    "SEND.b0.t0.c1>r1 @send.g0 group g0 reads grads[100:200] after compute:end input:1@-2\n"
    "program evaluate samples 1 of 9 repeats 4\n";

RC_GTEST_PROP(Text, of_every_plan_parses_back, ()) {
  const Plan plan = any_plan();
  const std::string text = to_text(plan);
  const auto read = parse(text);
  if (!read) RC_FAIL(base::to_string(read.error()) + "\n" + text);
  RC_ASSERT(read->ranks == plan.ranks);
  RC_ASSERT(read->groups == plan.groups);
  RC_ASSERT(read->schedule == plan.schedule);
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank)
    RC_ASSERT(read->rank_plan(rank) == plan.rank_plan(rank));
  RC_ASSERT(to_text(*read) == text);
  RC_ASSERT(hash(*read) == hash(plan));
}

RC_GTEST_PROP(Text, of_every_token_parses_back, ()) {
  RankPlan rank{0, {{"lane", LaneKind::compute, -1}}, {}, {}};
  const Op op = any_op(rank);
  const auto read = parse_token(token(op));
  RC_ASSERT(read.has_value());
  RC_ASSERT(token(*read) == token(op));
  RC_ASSERT(read->kind == op.kind && read->segment == op.segment && read->micro == op.micro &&
            read->bucket == op.bucket);
  RC_ASSERT(read->round == op.round && read->chunk == op.chunk && read->peer == op.peer);
}

TEST(Text, of_the_header_example_is_reproduced) {
  EXPECT_EQ(to_text(parse(kSmall).value()), kSmall);
}

TEST(Text, of_a_full_buffer_has_no_range) {
  std::string text = kSmall;
  text.replace(text.find("writes input"), 12, "writes input[0:224]");
  EXPECT_EQ(to_text(parse(text).value()), kSmall);
}

TEST(Text, may_contain_spaces_and_blank_lines) {
  std::string text;
  for (const char c : kSmall) text += c == ' ' ? "   " : c == '\n' ? " \n\n" : std::string(1, c);
  EXPECT_EQ(to_text(parse(text).value()), kSmall);
}

TEST(Text, has_the_steps_of_each_tail) {
  const auto tails = [](const std::string& written) {
    return parse("plan 1\nschedule steps 9 full 3" + written + "\n").value().schedule.tails;
  };
  EXPECT_EQ(tails(""), (std::vector<std::int64_t>{}));
  EXPECT_EQ(tails(" tail"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(tails(" tail 1 evaluate 4"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(tails(" tail 2 1 5 evaluate 4"), (std::vector<std::int64_t>{2, 1, 5}));
  EXPECT_FALSE(parse("plan 1\nschedule steps 9 full 3 tail two\n").has_value());
}

TEST(Text, has_the_averaging_interval_and_program) {
  const std::string text = "plan 1\nschedule steps 10 full 10 evaluate 4 average 3\n";
  const Plan plan = parse(text).value();
  EXPECT_EQ(to_text(plan), text);
  std::vector<std::int64_t> after;
  for (std::int64_t step = 0; step < 10; ++step)
    if (plan.schedule.averages_after(step)) after.push_back(step + 1);
  EXPECT_EQ(after, (std::vector<std::int64_t>{3, 4, 6, 8, 9, 10}));
}

TEST(Text, has_the_number_of_local_steps_and_the_averaging_program) {
  const std::string text = "plan 1\nschedule steps 7 full 3 tail 1 2 average 5 local 2\n";
  const Plan plan = parse(text).value();
  EXPECT_EQ(to_text(plan), text);
  std::vector<std::string> programs;
  for (std::int64_t step = 0; step < 7; ++step) programs.push_back(plan.schedule.program(step));
  EXPECT_EQ(programs, (std::vector<std::string>{"train", "train_average", "train", "tail_average",
                                                "tail2", "tail2_average", "train"}));
  EXPECT_EQ(plan.schedule.training(),
            (std::vector<std::string>{"train", "train_average", "tail", "tail_average", "tail2",
                                      "tail2_average"}));
  for (const char* name : {"train", "average", "evaluate"})
    EXPECT_FALSE(Schedule::is_averaging(name)) << name;
  EXPECT_TRUE(
      parse("plan 1\nschedule steps 7 full 3 tail local 2\n").value().schedule.local_steps == 2);
}

TEST(Text, hash_depends_on_every_part_of_the_plan) {
  const std::string before = hash(parse(kSmall).value());
  const std::pair<const char*, const char*> changes[] = {{"310", "311"},
                                                         {" tail", ""},
                                                         {": 0 1", ": 1 0"},
                                                         {" shared", ""},
                                                         {"32 of", "31 of"},
                                                         {"[100:", "[99:"},
                                                         {"6430720", "64"},
                                                         {"1@-2", "1@-1"},
                                                         {"repeats 4", "repeats 5"},
                                                         {"input:1\n", "input:0\n"}};
  for (const auto& [found, put] : changes) {
    std::string text = kSmall;
    text.replace(text.find(found), std::string(found).size(), put);
    EXPECT_NE(hash(parse(text).value()), before) << found;
  }
}

struct Wrong {
  const char *found, *put, *where;
};

class Refused : public testing::TestWithParam<Wrong> {};

TEST_P(Refused, text_is_reported_with_line_and_column) {
  const Wrong& wrong = GetParam();
  std::string text = kSmall;
  text.replace(text.find(wrong.found), std::string(wrong.found).size(), wrong.put);
  const auto read = parse(text);
  ASSERT_FALSE(read) << text;
  EXPECT_EQ(read.error().id, "bad_plan_text");
  EXPECT_EQ(read.error().where, wrong.where);
}

INSTANTIATE_TEST_SUITE_P(
    Text, Refused,
    testing::Values(
        Wrong{"plan 1", "plan 2", "line 1, column 6"},
        Wrong{"schedule", "sched", "line 2, column 1"}, Wrong{"310", "-3", "line 2, column 16"},
        Wrong{"310", "99999999999999999999", "line 2, column 16"},
        Wrong{"g0: 0 1", "g1: 0 1", "line 3, column 7"},
        Wrong{"0 1\nrank", "0 x\nrank", "line 3, column 13"},
        Wrong{"rank 0", "rank 1", "line 4, column 6"}, Wrong{"rank 0", "", "line 5, column 1"},
        Wrong{"input input", "input output", "line 5, column 12"},
        Wrong{"send g0", "send 0", "line 7, column 19"},
        Wrong{"lane compute", "lane input", "line 6, column 6"},
        Wrong{"lane compute", "lane after", "line 6, column 6"},
        Wrong{"fp32 224", "fp8 224", "line 8, column 14"},
        Wrong{"fp32 224", "fp32", "line 8, column 18"},
        Wrong{"shared", "shared shared", "line 9, column 33"},
        Wrong{"of 64", "", "line 10, column 26"}, Wrong{"LOAD.m0", "LOAF.m0", "line 11, column 1"},
        Wrong{"LOAD.m0", "LOAD.mx", "line 11, column 7"},
        Wrong{"F.s0.m0", "F.m0.s0", "line 12, column 5"}, Wrong{">r1", "<r1", "line 13, column 14"},
        Wrong{"@input", "input", "line 11, column 9"},
        Wrong{"@input", "@output", "line 11, column 9"},
        Wrong{"writes input", "writes outputs", "line 11, column 23"},
        Wrong{"[0:100480]", "[7:3]", "line 12, column 30"},
        Wrong{"[0:100480]", "[0:3", "line 12, column 30"},
        Wrong{"@input writes", "@input columns 0:9 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input columns 3:3/9 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input columns 3:10/9 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input weights 1:1 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input weights 1:/3 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input weights 1:--1/3 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input weights 1:1/0 writes", "line 11, column 24"},
        Wrong{"@input writes", "@input row 1 writes", "line 11, column 20"},
        Wrong{"compute:5@-1", "compute@-1", "line 11, column 35"},
        Wrong{"compute:5@-1", "compute:5@-x", "line 11, column 35"},
        Wrong{"repeats 4", "repeats", "line 14, column 40"},
        Wrong{"program evaluate", "program train", "line 14, column 9"},
        Wrong{"program evaluate samples 1 of 9 repeats 4", "buffer b fp32 9",
              "line 14, column 1"}));

TEST(Text, with_an_invalid_token_reports_the_column) {
  EXPECT_EQ(parse_token("F.s0.q1").error().where, "column 5");
  EXPECT_EQ(parse_token("").error().where, "column 1");
  EXPECT_EQ(parse_token("F.s99999999999").error().where, "column 4");
  EXPECT_FALSE(parse_token("RECV.b0.t0.c0-2147483647<r1")) << "one chunk more than can be counted";
}

TEST(Text, with_a_huge_invalid_token_is_quoted_in_part) {
  EXPECT_LT(base::to_string(parse("plan 1\n" + std::string(100'000, 'x')).error()).size(), 200u);
}

std::string mutated(std::string text, const base::Random& random) {
  const std::uint64_t changes = 1 + random.below(0, 4);
  for (std::uint64_t change = 1; change <= changes && !text.empty(); ++change) {
    const std::size_t at = random.below(4 * change, text.size()),
                      length = random.below(4 * change + 1, 24);
    const auto value = static_cast<char>(random.below(4 * change + 2, 256));
    switch (random.below(4 * change + 3, 5)) {
      case 0: text.resize(at); break;
      case 1: text.erase(at, length); break;
      case 2:
        text.insert(at, text.substr(random.below(4 * change, text.size() / 2 + 1), length));
        break;
      case 3: text.insert(at, length, static_cast<char>('0' + value % 10)); break;
      default: text[at] = value;
    }
  }
  return text;
}

// Accepted text must be written and parsed as the same plan; the sanitizers check the rest.
TEST(Text, mutations_never_crash_the_parser) {
  int refused = 0;
  for (std::uint32_t round = 0; round < 6000; ++round) {
    const auto read = parse(mutated(kSmall, base::Random(5, base::Purpose::generate, round)));
    refused += read ? 0 : 1;
    if (read) {
      ASSERT_EQ(to_text(parse(to_text(*read)).value()), to_text(*read));
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 6000);
}

}  // namespace
}  // namespace trainyard::plan
