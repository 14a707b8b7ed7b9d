// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/pass_cells.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/plan/text.h"

namespace trainyard::ui {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

std::vector<plan::Op> ops(const std::string& tokens) {
  std::vector<plan::Op> all;
  for (const std::string& token : words(tokens)) all.push_back(plan::parse_token(token).value());
  return all;
}

std::string text(const experiment::Cell& cell) {
  using experiment::Pass;
  const char* pass = cell.pass == Pass::forward ? "F" : cell.pass == Pass::backward ? "B" : "W";
  return pass + std::to_string(cell.stage) + "." + std::to_string(cell.micro);
}

std::string text(const OpCells& cells) {
  std::string all;
  for (const auto& cell : cells)
    all += (all.empty() ? "" : " ") + (cell ? text(*cell) : std::string("-"));
  return all;
}

// "F0.0 0-10, B0.0 30-50"
std::string text(const std::vector<PassCell>& cells) {
  std::string all;
  for (const PassCell& cell : cells)
    all += (all.empty() ? "" : ", ") + text(cell.of) + " " + std::to_string(cell.range.begin) +
           "-" + std::to_string(cell.range.end);
  return all;
}

std::string text(const std::vector<TimeRange>& ranges) {
  std::string all;
  for (const TimeRange& range : ranges)
    all +=
        (all.empty() ? "" : ", ") + std::to_string(range.begin) + "-" + std::to_string(range.end);
  return all;
}

// Segments 0 and 1 on rank 0, 2 and 3 on rank 1.
const std::vector<model::Stage> kTwoStages{{0, 1, 0}, {2, 3, 1}};

TEST(OpCells, are_the_passes_of_micro_batches_through_stages) {
  EXPECT_EQ(text(cells_of_ops(ops("RATE LOAD.m0 F.s0.m0 F.s1.m0 SEND.b0.t0.c0>r1 RECV.b0.t0.c0<r1 "
                                  "B.s1.m0 W.s1.m0 W.s0.m0 NORM.s0 UPD.s1 UPD.s0"),
                              kTwoStages, false)),
            "- - F0.0 F0.0 - - B0.0 B0.0 B0.0 - - -");
}

TEST(OpCells, backward_cells_include_loss_and_recomputation) {
  EXPECT_EQ(
      text(cells_of_ops(ops("F.s2.m1 F.s3.m1 R.s2.m1 LOSS.m1 B.s3.m1 W.s3.m1 B.s2.m1 W.s2.m1"),
                        kTwoStages, false)),
      "F1.1 F1.1 B1.1 B1.1 B1.1 B1.1 B1.1 B1.1");
}

TEST(OpCells, separate_weight_gradients_are_a_separate_pass) {
  const auto in_order = ops("B.s3.m0 B.s2.m0 W.s3.m0 W.s2.m0");
  EXPECT_EQ(text(cells_of_ops(in_order, kTwoStages, true)), "B1.0 B1.0 W1.0 W1.0");
  EXPECT_EQ(text(cells_of_ops(in_order, kTwoStages, false)), "B1.0 B1.0 B1.0 B1.0");
  EXPECT_EQ(text(cells_of_ops(ops("B.s3.m0 W.s2.m0 B.s2.m0 W.s3.m0"), kTwoStages, true)),
            "B1.0 B1.0 B1.0 W1.0")
      << "those that must come before the gradient is handed on, as of a batch normalisation, are "
         "not";
}

TEST(OpCells, stages_on_a_rank_have_separate_cells) {
  const std::vector<model::Stage> stages{{0, 0, 0}, {1, 1, 1}, {2, 2, 0}, {3, 3, 1}};
  EXPECT_EQ(text(cells_of_ops(ops("F.s0.m0 F.s0.m1 F.s2.m0 B.s2.m0 B.s0.m0"), stages, false)),
            "F0.0 F0.1 F2.0 B2.0 B0.0");
}

TEST(PassCells, span_from_the_first_begin_to_the_last_end_of_their_ops) {
  const OpCells cells =
      cells_of_ops(ops("F.s0.m0 F.s1.m0 F.s0.m1 F.s1.m1 UPD.s0"), kTwoStages, false);
  const auto made = pass_cells(
      cells,
      {{0, {0, 10}}, {1, {12, 20}}, {2, {20, 31}}, {3, {31, 40}}, {4, {50, 90}}, {99, {90, 91}}});
  EXPECT_EQ(text(made), "F0.0 0-20, F0.1 20-40");
  EXPECT_EQ(made[1].op, 2) << "the first op in the program";
}

// GPipe as in its paper: two equal stages, three micro-batches, backward as long as forward. Four
// of sixteen cells are idle.
StepCells gpipe() {
  const OpCells first = cells_of_ops(ops("F.s0.m0 F.s0.m1 F.s0.m2 B.s0.m0 B.s0.m1 B.s0.m2 UPD.s0"),
                                     kTwoStages, false);
  const OpCells second = cells_of_ops(ops("F.s2.m0 F.s2.m1 F.s2.m2 B.s2.m0 B.s2.m1 B.s2.m2 UPD.s2"),
                                      kTwoStages, false);
  return StepCells::of({pass_cells(first, {{0, {0, 10}},
                                           {1, {10, 20}},
                                           {2, {20, 30}},
                                           {3, {50, 60}},
                                           {4, {60, 70}},
                                           {5, {70, 80}},
                                           {6, {80, 99}}}),
                        pass_cells(second, {{0, {10, 20}},
                                            {1, {20, 30}},
                                            {2, {30, 40}},
                                            {3, {40, 50}},
                                            {4, {50, 60}},
                                            {5, {60, 70}},
                                            {6, {70, 89}}})});
}

TEST(StepCells, time_outside_cells_is_the_bubble_without_the_update) {
  const StepCells step = gpipe();
  EXPECT_EQ(step.range, (TimeRange{0, 80}));
  EXPECT_EQ(step.micro_batches(), 3);
  EXPECT_DOUBLE_EQ(step.bubble(), 0.25) << "(p-1)/(m+p-1) of two ranks and three micro-batches";
  EXPECT_EQ(text(step.idle(0)), "30-50");
  EXPECT_EQ(text(step.idle(1)), "0-10, 70-80");
}

TEST(StepCells, find_a_cell_by_pass_stage_and_micro_batch) {
  const StepCells step = gpipe();
  const PassCell* found = step.find(1, {experiment::Pass::backward, 1, 2});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->range, (TimeRange{60, 70}));
  EXPECT_EQ(step.find(1, {experiment::Pass::backward_weight, 1, 2}), nullptr);
  EXPECT_EQ(step.find(7, {experiment::Pass::backward, 1, 2}), nullptr);
}

TEST(StepCells, without_cells_have_no_time_and_no_bubble) {
  const StepCells nothing = StepCells::of({{}, {}});
  EXPECT_EQ(nothing.range.width(), 0);
  EXPECT_EQ(nothing.bubble(), 0);
  EXPECT_EQ(nothing.micro_batches(), 0);
  EXPECT_TRUE(nothing.idle(0).empty());
}

}  // namespace
}  // namespace trainyard::ui
