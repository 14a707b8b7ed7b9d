// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/timeline_figures.h"

#include <gtest/gtest.h>

#include "core/experiment/document.h"
#include "tests/ui/recorded_ops.h"

namespace trainyard::ui {
namespace {

using namespace test;

// Computes from 10 to 70 and from 90 to 100; sends from 50 to 80; waits from 50 to 75 for what it
// receives, and has it at 90.
RecordedOps one_step() {
  RecordedOps ops;
  ops.add(0, {ran(kLoad, 0, 10),
              ran(kForward, 10, 40),
              ran(kBackward, 40, 70),
              ran(kSend, 50, 80),
              {kReduce, 50, 75, 90, 0, 64},
              ran(kUpdate, 90, 100)});
  return ops;
}

TEST(TimelineFigures, of_a_step_by_hand) {
  RecordedOps ops = one_step();
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 100}});
  EXPECT_EQ(figures.compute, 70);
  EXPECT_EQ(figures.communication, 40)
      << "from 50 to 90: what is sent and what is received overlap";
  EXPECT_EQ(figures.hidden, 20) << "from 50 to 70";
  EXPECT_EQ(figures.waiting, 25);
  EXPECT_DOUBLE_EQ(figures.efficiency(), 0.7);
  EXPECT_DOUBLE_EQ(*figures.overlap(), 0.5);
}

TEST(TimelineFigures, count_only_what_lies_in_the_range) {
  RecordedOps ops = one_step();
  const RankFigures figures = figures_of(ops.store(), 0, {{60, 80}});
  EXPECT_EQ(figures.looked_at, 20);
  EXPECT_EQ(figures.compute, 10);
  EXPECT_EQ(figures.communication, 20);
  EXPECT_EQ(figures.hidden, 10);
  EXPECT_EQ(figures.waiting, 15);
}

TEST(TimelineFigures, leave_out_what_lies_between_the_times_looked_at) {
  RecordedOps ops = one_step();
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 20}, {60, 80}, {95, 200}});
  EXPECT_EQ(figures.looked_at, 145);
  EXPECT_EQ(figures.compute, 10 + 10 + 5);
  EXPECT_EQ(figures.communication, 20);
  EXPECT_EQ(figures.hidden, 10);
  EXPECT_EQ(figures.waiting, 15);
}

TEST(TimelineFigures, count_sends_that_are_under_way_together_once) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 30), ran(kSend, 10, 40), ran(kSecondSend, 20, 60),
              ran(kThirdSend, 80, 90)});
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 100}});
  EXPECT_EQ(figures.communication, 60) << "10 to 60, and 80 to 90";
  EXPECT_EQ(figures.hidden, 20) << "10 to 30";
}

TEST(TimelineFigures, one_rank_that_sends_nothing_has_no_overlap) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 30)});
  EXPECT_EQ(figures_of(ops.store(), 0, {{0, 100}}).overlap(), std::nullopt);
  EXPECT_EQ(figures_of(ops.store(), 0, {{0, 0}}).efficiency(), 0);
}

TEST(TimelineFigures, over_ranks_are_means_and_overlap_is_of_all_communication_together) {
  const RankFigures busy{100, 80, 10, 10, 0}, idle{100, 40, 30, 0, 20};
  const TimelineFigures all = average_over_ranks({busy, idle});
  EXPECT_DOUBLE_EQ(all.efficiency, 0.6);
  EXPECT_DOUBLE_EQ(all.communication, 0.2);
  EXPECT_DOUBLE_EQ(all.waiting.value(), 0.1);
  EXPECT_DOUBLE_EQ(*all.overlap, 0.25) << "10 of 40";
  EXPECT_EQ(all.least_efficient, 1);
  EXPECT_DOUBLE_EQ(all.min_efficiency, 0.4);
  EXPECT_EQ(average_over_ranks({}).ranks, 0);
  const RankFigures by_engine{100, 40, 30, 0, 0, false};
  EXPECT_EQ(average_over_ranks({busy, by_engine}).waiting, std::nullopt)
      << "an engine does not report it";
}

}  // namespace
}  // namespace trainyard::ui
