// SPDX-License-Identifier: GPL-3.0-or-later
// The order that ranks which answer wrote down, each for itself: as bytes, and as one order.
#include "core/plan/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard::plan {
namespace {

Answer answers(int rank, int active, std::int64_t step, StepPosition place = {}) {
  return {Answer::Kind::answers, rank, place, active, step};
}
Answer ends(int rank, std::int64_t step) { return {Answer::Kind::ends, rank, {step, 0}, -1, 0}; }

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string why(const std::string& bytes) {
  const auto read = answers_of(bytes_of(bytes));
  return read ? "" : read.error().id;
}

TEST(Answers, read_back_as_written) {
  const std::vector<Answer> written{answers(3, 0, 17, {16, 9}),
                                    answers(3, 2, std::int64_t{1} << 40, {5, 0}), ends(3, 60)};
  std::string bytes;
  for (const Answer& one : written) append(one, bytes);
  EXPECT_EQ(bytes.size(), 3U * 32);
  EXPECT_EQ(answers_of(bytes_of(bytes)).value(), written);
}

TEST(Answers, that_are_impossible_are_problems) {
  std::string bytes;
  append(answers(3, 0, 17), bytes);
  append(ends(3, 18), bytes);
  EXPECT_EQ(why(bytes.substr(0, 40)), "order_truncated");
  std::string other_kind = bytes, more_than_a_kind = bytes;
  other_kind[32] = 2;
  more_than_a_kind[33] = 1;
  EXPECT_EQ(why(other_kind), "unknown_event");
  EXPECT_EQ(why(more_than_a_kind), "unknown_event") << "bytes that are never written";
}

TEST(Answers, are_ordered_by_position) {
  EXPECT_LT((StepPosition{3, 9}), (StepPosition{4, 0}));
  EXPECT_LT((StepPosition{4, 0}), (StepPosition{4, 1}));
}

// Each as who answered, whom and for which step; what follows on what was not written down is left.
std::string merged(std::vector<std::vector<Answer>> ranks, std::int64_t first_step = 0) {
  RecordedAnswers order = RecordedAnswers::make(std::move(ranks), first_step).value();
  std::string text;
  for (auto next = order.next(); next; next = order.next())
    text += next->kind == Answer::Kind::ends
                ? "end" + std::to_string(next->rank) + " "
                : std::to_string(next->rank) + "<" + std::to_string(next->active) + "." +
                      std::to_string(next->step) + " ";
  return text + (order.left() > 0 ? "left " + std::to_string(order.left()) : "");
}

// 0 and 2 ask, 1 and 3 answer.
TEST(RecordedAnswers, are_returned_for_a_step_after_all_earlier_steps) {
  EXPECT_EQ(merged({{}, {answers(1, 0, 1), ends(1, 2)}, {}, {answers(3, 0, 0), ends(3, 2)}}),
            "3<0.0 end3 1<0.1 end1 ");
  EXPECT_EQ(
      merged({{}, {answers(1, 0, 0), answers(1, 2, 1)}, {}, {answers(3, 2, 0), answers(3, 0, 1)}}),
      "1<0.0 3<2.0 3<0.1 1<2.1 ");
}

TEST(RecordedAnswers, end_at_the_shortest_log) {
  EXPECT_EQ(merged({{}, {answers(1, 0, 0), answers(1, 0, 2), answers(1, 2, 0)}, {}, {}}),
            "1<0.0 left 2")
      << "no rank reported which one answered step 1";
}

TEST(RecordedAnswers, start_at_the_first_step_of_the_run) {
  EXPECT_EQ(merged({{}, {answers(1, 0, 30)}}, 30), "1<0.30 ");
}

TEST(RecordedAnswers, of_unknown_ranks_are_refused) {
  EXPECT_FALSE(RecordedAnswers::make({{}, {answers(0, 1, 0)}}, 0)) << "another's";
  EXPECT_FALSE(RecordedAnswers::make({{}, {answers(1, 2, 0)}}, 0));
  EXPECT_FALSE(RecordedAnswers::make({{}, {answers(1, -1, 0)}}, 0));
  EXPECT_TRUE(RecordedAnswers::make({{}, {ends(1, 0)}}, 0));
}

}  // namespace
}  // namespace trainyard::plan
