// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ui/has_all.h"
#include "tests/ui/recorded_ops.h"
#include "ui/timeline/span_text.h"
#include "ui/timeline/timeline_walk.h"

namespace trainyard::ui {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(TimelineGeometry, zoom_keeps_the_time_under_the_pointer) {
  EXPECT_EQ(zoomed({0, 1000}, 0.25, 0.5), (TimeRange{125, 625})) << "250 stays at a quarter";
  EXPECT_EQ(zoomed({0, 1000}, 1, 2), (TimeRange{-1000, 1000}));
  EXPECT_EQ(zoomed({0, 150}, 0.5, 0.001).width(), kNarrowest);
}

TEST(TimelineGeometry, views_stay_within_the_home_view) {
  const TimeRange home{0, 10'000};
  EXPECT_EQ(within_home({-500, 500}, home), (TimeRange{0, 1000}));
  EXPECT_EQ(within_home({9'500, 10'500}, home), (TimeRange{9'000, 10'000}));
  EXPECT_EQ(within_home({-5'000, 50'000}, home), home);
  EXPECT_EQ(within_home({400, 401}, home).width(), kNarrowest);
  EXPECT_EQ(panned({0, 1000}, 0.1), (TimeRange{100, 1100}));
  EXPECT_EQ(ending_at({0, 1000}, 5000), (TimeRange{4000, 5000}));
  EXPECT_GT(home_of({5, 5}).width(), 0) << "also of a run whose only op took no time";
}

QStringList labels(const TimeRange& view, int about) {
  QStringList texts;
  for (const TimeTick& tick : time_ticks(view, about)) texts << tick.label;
  return texts;
}

TEST(TimelineGeometry, ticks_are_round_with_the_minimum_of_digits) {
  EXPECT_THAT(labels({0, 10'000'000'000}, 5),
              ElementsAre("0 s", "2 s", "4 s", "6 s", "8 s", "10 s"));
  EXPECT_THAT(labels({12'345'600'000, 12'345'900'000}, 3),
              ElementsAre("12.3456 s", "12.3457 s", "12.3458 s", "12.3459 s"));
  EXPECT_THAT(labels({1'000, 1'600}, 3), ElementsAre("1.0 µs", "1.2 µs", "1.4 µs", "1.6 µs"));
  EXPECT_THAT(labels({-300, 300}, 2), ElementsAre("0 ns"));
}

TEST(TimelineGeometry, ranks_are_below_each_other_with_their_lanes) {
  RecordedOps ops(2);
  ops.add(0, {ran(kForward, 0, 5)});
  TimelineRows rows;
  rows.lay_out(ops.store(), 10, 4);
  ASSERT_EQ(rows.rows().size(), 10u)
      << "four lanes each, and that of whole buckets; the unnamed one is empty";
  EXPECT_EQ(rows.rows()[0].top, 4);
  EXPECT_EQ(rows.rows()[2].lane, 5) << "buckets stand above their chunks";
  EXPECT_EQ(rows.rows()[3].lane, 3);
  EXPECT_EQ(rows.rows()[5].rank, 1);
  EXPECT_EQ(rows.rows()[5].top, 58);
  EXPECT_EQ(rows.height(), 112);
  EXPECT_EQ(rows.row_at(0), 0);
  EXPECT_EQ(rows.row_at(13), 0);
  EXPECT_EQ(rows.row_at(14), 1);
  EXPECT_EQ(rows.row_at(55), 5) << "in a gap, the next span";
  EXPECT_EQ(rows.row_at(1000), 9);
  EXPECT_EQ(rows.row_of(1, 2), 6);
  EXPECT_EQ(rows.row_of(1, 0), -1);
  EXPECT_EQ(rows.rank_block(1).top, 58);
  EXPECT_EQ(rows.rank_block(1).bottom, 108);
}

TEST(TimelineGeometry, tracks_share_a_lane_while_each_is_visible) {
  RecordedOps ops;
  ops.add(0, {ran(kSend, 0, 50), ran(kSecondSend, 0, 60), ran(kThirdSend, 10, 70)});
  const SpanLane& sends = ops.store().lane(0, 3);
  EXPECT_EQ(drawn_tracks(sends, 18), 3);
  EXPECT_EQ(drawn_tracks(sends, 9), 3);
  EXPECT_EQ(drawn_tracks(sends, 8), 0) << "tracks below one pixel are merged";
  EXPECT_EQ(drawn_tracks(ops.store().lane(0, 2), 3), 0) << "an empty lane has none";
  const QRect row(100, 30, 50, 18);
  EXPECT_EQ(track_rect(row, 3, 0), QRect(100, 30, 50, 5));
  EXPECT_EQ(track_rect(row, 3, 2), QRect(100, 42, 50, 5));
  EXPECT_EQ(track_rect(row, 1, 0), row);
}

TEST(TimelineGeometry, frozen_range_does_not_grow) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 5)});
  FrozenSpans held;
  const SpanTrack& forward = *ops.store().lane(0, 2).tracks()[0];
  held.hold(ops.store());
  ops.add(0, {ran(kBackward, 5, 9), ran(kSend, 5, 9)});
  EXPECT_EQ(held.end(forward), 1u);
  EXPECT_EQ(held.end(*ops.store().lane(0, 3).tracks()[0]), 0u) << "a lane that begins later";
  held.release();
  EXPECT_EQ(held.end(forward), 2u);
}

TEST(TimelineText, times_are_exact_to_the_nanosecond) {
  EXPECT_EQ(exact_time(0), "0 ns");
  EXPECT_EQ(exact_time(999), "999 ns");
  EXPECT_EQ(exact_time(1'005), "1.005 µs");
  EXPECT_EQ(exact_time(12'345'678), "12.345678 ms");
  EXPECT_EQ(exact_time(-1'000'000'001), "-1.000000001 s");
  EXPECT_EQ(exact_time(1'234'000'000'000), "1,234.000000000 s");
}

TEST(TimelineText, states_all_recorded_values_of_a_receive) {
  RecordedOps ops;
  ops.add(0, {{kReduce, 2'000'100, 2'000'175, 2'000'200, 4, 51'200}});
  ops.end_step(0, 4, 3'000'000, 1'000'000);
  const SpanText words = span_text(ops.store(), ops.history(), {0, 4, 0, 0});
  EXPECT_EQ(words.title, "RED.b0.t0.c1<r1");
  EXPECT_THAT(words.lines, ElementsAre(test::HasAll("transfer", "rank 0, recv.g0, step 4 (train)"),
                                       test::HasAll("2.000100 ms of the run", "100 ns of the step"),
                                       test::HasAll("takes 100 ns", "waits 75 ns", "for 25 ns"),
                                       "51,200 bytes"));
}

TEST(TimelineText, states_exact_times_of_a_bucket) {
  RecordedOps ops;
  ops.add(0, {ran(kForward, 0, 45, 3),
              {kSend, 10, 10, 30, 3, 64},
              {kReduce, 10, 40, 50, 3, 64},
              {kSecondSend, 52, 52, 60, 3, 64},
              {kThirdSend, 55, 55, 75, 3, 64}});
  const SpanText words = span_text(ops.store(), ops.history(), {0, 5, 0, 0});
  EXPECT_EQ(words.title, "AR.b0");
  EXPECT_THAT(words.lines,
              ElementsAre(test::HasAll("collective", "rank 0, buckets.g0, step 3 (train)"),
                          test::HasAll("10 ns of the run"),
                          test::HasAll("takes 65 ns, until 75 ns", "waits 30 ns", "for 10 ns",
                                       "only sends for 23 ns", "idle for 2 ns"),
                          test::HasAll("overlapping compute", "35 ns"), test::HasAll("256 bytes")));
}

TEST(TimelineText, omits_unreported_steps_and_unmeasured_waits) {
  RecordedOps ops;
  ops.add(0, {{kSend, 100, 100, 200, 4, 8}, ran(kForward, 0, 50, 4)});
  EXPECT_THAT(
      span_text(ops.store(), ops.history(), {0, 3, 0, 0}).lines,
      ElementsAre(test::HasAll("send on rank 0, send.g0, step 4 (train)"),
                  AllOf(test::HasAll("100 ns of the run"), Not(test::HasAll("step"))),
                  AllOf(test::HasAll("takes 100 ns"), Not(test::HasAll("waits"))), "8 bytes"));
  EXPECT_EQ(span_text(ops.store(), ops.history(), {0, 2, 0, 0}).lines.size(), 3)
      << "compute ops have no bytes";
}

TEST(TimelineNavigation, finds_the_last_pushed_gradient_before_a_time) {
  constexpr int kPush = 8, kAsk = 9;
  RecordedOps ops(2);
  ops.plan(0, planned(0, "PUSH.b0>r1 @send.g0 group g0\nPUSH>r1 @send.g0 group g0\n"));
  ops.add(0, {ran(kPush, 100, 200, 0), ran(kAsk, 210, 220, 0), ran(kPush, 300, 400, 1),
              ran(kAsk, 410, 420, 1), ran(kSend, 430, 500, 1)});
  const auto pushed_at = [&](Nanoseconds time) -> Nanoseconds {
    const auto push = push_before(ops.store(), 0, time);
    return push ? span_at(ops.store(), *push)->begin : -1;
  };
  EXPECT_EQ(pushed_at(99), -1) << "no gradient was pushed";
  EXPECT_EQ(pushed_at(100), 100);
  EXPECT_EQ(pushed_at(250), 100);
  EXPECT_EQ(pushed_at(1'000), 300);
  EXPECT_FALSE(push_before(ops.store(), 1, 1'000)) << "the rank pushed no gradient";
  EXPECT_FALSE(push_before(ops.store(), 7, 1'000)) << "the rank does not exist";
}

}  // namespace
}  // namespace trainyard::ui
