// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/timeline_figures.h"

#include <gtest/gtest.h>

#include "core/experiment/document.h"
#include "tests/ui/recorded_ops.h"

namespace trainyard::ui {
namespace {

using namespace test;

// Compute from 10 to 70 and from 90 to 100, a send from 50 to 80, and a receive from 50 to 90 that
// waits until 75.
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

TEST(TimelineFigures, match_a_step_computed_by_hand) {
  RecordedOps ops = one_step();
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 100}});
  EXPECT_EQ(figures.compute, 70);
  EXPECT_EQ(figures.communication, 40) << "from 50 to 90: sends and receives overlap";
  EXPECT_EQ(figures.hidden, 20) << "from 50 to 70";
  EXPECT_EQ(figures.waiting, 25);
  EXPECT_DOUBLE_EQ(figures.efficiency(), 0.7);
  EXPECT_DOUBLE_EQ(*figures.overlap(), 0.5);
}

TEST(TimelineFigures, count_time_of_two_waiting_receives_once) {
  RecordedOps ops;
  ops.plan(0,
           "rank 0\nlane recv.g0 recv g0\nlane recv.g1 recv g1\nprogram train samples 8 of 16\n"
           "RED.b0.t0.c0<r1 @recv.g0 group g0\nRED.b1.t0.c0<r1 @recv.g1 group g1\n");
  ops.add(0, {{0, 10, 60, 70}, {1, 20, 90, 95}});
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 100}});
  EXPECT_EQ(figures.waiting, 80) << "from 10 to 90, of which both wait from 20 to 60";
  EXPECT_EQ(figures.communication, 85);
}

TEST(TimelineFigures, exclude_spans_outside_the_range) {
  RecordedOps ops = one_step();
  const RankFigures figures = figures_of(ops.store(), 0, {{60, 80}});
  EXPECT_EQ(figures.looked_at, 20);
  EXPECT_EQ(figures.compute, 10);
  EXPECT_EQ(figures.communication, 20);
  EXPECT_EQ(figures.hidden, 10);
  EXPECT_EQ(figures.waiting, 15);
}

TEST(TimelineFigures, exclude_time_between_selected_ranges) {
  RecordedOps ops = one_step();
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 20}, {60, 80}, {95, 200}});
  EXPECT_EQ(figures.looked_at, 145);
  EXPECT_EQ(figures.compute, 10 + 10 + 5);
  EXPECT_EQ(figures.communication, 20);
  EXPECT_EQ(figures.hidden, 10);
  EXPECT_EQ(figures.waiting, 15);
}

TEST(TimelineFigures, count_concurrent_sends_once) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 30), ran(kSend, 10, 40), ran(kSecondSend, 20, 60),
              ran(kThirdSend, 80, 90)});
  const RankFigures figures = figures_of(ops.store(), 0, {{0, 100}});
  EXPECT_EQ(figures.communication, 60) << "10 to 60, and 80 to 90";
  EXPECT_EQ(figures.hidden, 20) << "10 to 30";
}

TEST(TimelineFigures, have_no_overlap_for_a_rank_without_communication) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 30)});
  EXPECT_EQ(figures_of(ops.store(), 0, {{0, 100}}).overlap(), std::nullopt);
  EXPECT_EQ(figures_of(ops.store(), 0, {{0, 0}}).efficiency(), 0);
}

TEST(TimelineFigures, are_means_over_ranks_with_overlap_of_total_communication) {
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
      << "engines do not report waiting";
}

}  // namespace
}  // namespace trainyard::ui
