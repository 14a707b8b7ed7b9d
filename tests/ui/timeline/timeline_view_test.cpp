// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_view.h"

#include <gtest/gtest.h>

#include <QPainter>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "tests/ui/has_all.h"
#include "tests/ui/recorded_ops.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using namespace test;

constexpr Nanoseconds kStep = 1'000'000;

// Two ranks. In a step of 1 ms they compute for 600 us, send and receive until 900 us, and update.
class TimelineViewTest : public testing::Test {
 protected:
  TimelineViewTest() {
    view_.resize(1000, 300);
    view_.show();
    for (int step = 0; step < 5; ++step) add_step(step);
    read();
    view_.set_source(&ops_.store(), &ops_.history(), &steps_);
  }
  ~TimelineViewTest() override { Theme::instance().apply(Theme::Kind::light); }

  void add_step(int step) {
    const Nanoseconds at = kStep * step;
    for (int rank = 0; rank < 2; ++rank) {
      ops_.add(rank, {ran(kLoad, at, at + 50'000, step),
                      ran(kForward, at + 50'000, at + 250'000, step),
                      ran(kBackward, at + 250'000, at + 600'000, step),
                      ran(kSend, at + 400'000, at + 800'000, step),
                      {kReduce, at + 400'000, at + 850'000, at + 900'000, step, 4096},
                      ran(kUpdate, at + 900'000, at + 990'000, step)});
      ops_.end_step(rank, step, at + kStep, kStep);
    }
  }
  void read() {
    while (steps_.read(ops_.history())) continue;
  }
  SpanAddress place(int rank, int lane, std::size_t number) const {
    return {rank, lane, 0, number};
  }
  const OpSpan& span(const SpanAddress& place) { return *span_at(ops_.store(), place); }
  QPoint middle(const SpanAddress& place) const { return view_.rect_of(place).center().toPoint(); }
  void click(QPoint at) { QTest::mouseClick(view_.viewport(), Qt::LeftButton, {}, at); }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&view_, key, modifiers);
  }
  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(view_.viewport(), Qt::LeftButton, modifiers, from);
    QMouseEvent move(QEvent::MouseMove, to, view_.viewport()->mapToGlobal(to), Qt::LeftButton,
                     Qt::LeftButton, modifiers);
    QApplication::sendEvent(view_.viewport(), &move);
    QTest::mouseRelease(view_.viewport(), Qt::LeftButton, modifiers, to);
  }
  void turn_wheel(QPoint at, int by, Qt::KeyboardModifiers modifiers) {
    QWheelEvent turn(at, view_.viewport()->mapToGlobal(at), {}, {0, by}, Qt::NoButton, modifiers,
                     Qt::NoScrollPhase, false);
    QApplication::sendEvent(view_.viewport(), &turn);
  }
  QImage picture() { return view_.viewport()->grab().toImage(); }

  RecordedOps ops_{2};
  StepTimes steps_;
  TimelineView view_;
};

TEST_F(TimelineViewTest, begins_with_the_last_three_steps) {
  EXPECT_NEAR(static_cast<double>(view_.view().begin), 2e6, 1e5);
  EXPECT_NEAR(static_cast<double>(view_.view().end), 5e6, 1e5);
}

TEST_F(TimelineViewTest, faults_of_a_rank_are_only_in_its_lanes) {
  const QColor ink = Theme::instance().colors().warning;
  const auto inked = [&](int rank) {
    const QImage seen = picture();
    const int top = qRound(view_.rect_of(place(rank, 0, 3)).top()),
              bottom = qRound(view_.rect_of(place(rank, 2, 3)).bottom());
    int count = 0;
    for (int y = top; y < bottom; ++y)
      for (int x = 0; x < view_.viewport()->width(); ++x)
        count += seen.pixelColor(x, y) == ink ? 1 : 0;
    return count;
  };
  view_.home();
  EXPECT_EQ(inked(1), 0);
  ops_.add_fault(1, "lost", 3 * kStep);
  EXPECT_GT(inked(1), 20);
  EXPECT_EQ(inked(0), 0);
  view_.show_range({3 * kStep + 100'000, 4 * kStep});
  EXPECT_EQ(inked(1), 0) << "the fault was in an earlier step";
}

TEST_F(TimelineViewTest, paints_ops_by_kind_and_separates_waiting_from_transfer) {
  const QImage seen = picture();
  const TimelineColors colors = timeline_colors();
  const auto at = [&](const SpanAddress& place, double fraction) {
    const QRectF box = view_.rect_of(place);
    return seen.pixelColor(qRound(box.left() + fraction * box.width()), qRound(box.bottom()) - 2);
  };
  EXPECT_EQ(at(place(0, 1, 3), 0.5), colors.of(SpanKind::input));
  EXPECT_EQ(at(place(1, 2, 10), 0.9), colors.of(SpanKind::backward));
  EXPECT_EQ(at(place(1, 4, 3), 0.97), colors.of(SpanKind::receive));
  EXPECT_NE(at(place(1, 4, 3), 0.3), colors.of(SpanKind::receive))
      << "the op waits for 90 % of its time";
  const QRectF forward = view_.rect_of(place(0, 2, 9)), rest = view_.rect_of(place(0, 2, 11));
  EXPECT_EQ(seen.pixelColor(qRound(rest.right() + 3), qRound(forward.center().y())), colors.ground)
      << "no op ran here";
}

TEST_F(TimelineViewTest, imposed_delay_is_separate_from_compute) {
  const Nanoseconds at = 5 * kStep;
  ops_.add(1, {{kForward, at, at, at + 200'000, 5, 0, 0},
               {kBackward, at + 200'000, at + 200'000, at + kStep, 5, 0, 600'000}});
  ops_.end_step(1, 5, at + kStep, kStep);
  read();
  view_.refresh();
  view_.show_range({at, at + kStep});
  const SpanAddress held = place(1, 2, 16);
  ASSERT_EQ(span(held).held, 600'000);
  const QImage seen = picture();
  const QColor backward = timeline_colors().of(SpanKind::backward);
  const QRectF box = view_.rect_of(held);
  const auto colored = [&](double fraction) {
    return seen.pixelColor(qRound(box.left() + fraction * box.width()), qRound(box.bottom()) - 2) ==
           backward;
  };
  EXPECT_TRUE(colored(0.1) && colored(0.23)) << "a quarter of the span is compute";
  for (const double late : {0.27, 0.5, 0.75, 0.98}) EXPECT_FALSE(colored(late)) << late;
  QTest::mouseMove(view_.viewport(), middle(held));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !view_.reading().title.isEmpty(); }));
  EXPECT_THAT(
      view_.reading().lines.join("; "),
      test::HasAll("takes 800.000 µs", "computes for 200.000 µs", "delayed for 600.000 µs"));
}

TEST_F(TimelineViewTest, click_selects_the_op_under_the_pointer_or_nothing) {
  QSignalSpy emissions(&view_, &TimelineView::selection_changed);
  click(middle(place(1, 4, 3)));
  EXPECT_EQ(view_.selected(), place(1, 4, 3));
  EXPECT_EQ(emissions.size(), 1);
  EXPECT_TRUE(view_.accessibleDescription().startsWith("RED.b0.t0.c1<r0: transfer on rank 1"))
      << view_.accessibleDescription().toStdString();
  click(middle(place(1, 1, 3)) + QPoint(60, 0));
  EXPECT_EQ(view_.selected(), std::nullopt);
  EXPECT_EQ(view_.accessibleDescription(), "");
}

TEST_F(TimelineViewTest, tooltip_has_the_exact_figures_of_an_op) {
  QTest::mouseMove(view_.viewport(), middle(place(1, 4, 3)));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !view_.reading().title.isEmpty(); }));
  EXPECT_EQ(view_.reading().title, "RED.b0.t0.c1<r0");
  EXPECT_THAT(view_.reading().lines.join("; "),
              test::HasAll("takes 500.000 µs", "waits 450.000 µs", "for 50.000 µs",
                           "3.400000 ms of the run", "400.000 µs of the step"));
}

TEST_F(TimelineViewTest, bucket_is_one_span_above_its_chunks_with_separate_waiting) {
  for (int step = 5; step < 8; ++step) {
    const Nanoseconds at = kStep * step;
    for (int rank = 0; rank < 2; ++rank) {
      ops_.add(rank, {ran(kSend, at + 400'000, at + 500'000, step),
                      {kReduce, at + 400'000, at + 600'000, at + 700'000, step, 4096},
                      ran(kSecondSend, at + 700'000, at + 750'000, step),
                      ran(kThirdSend, at + 700'000, at + 900'000, step)});
      ops_.end_step(rank, step, at + kStep, kStep);
    }
  }
  read();
  view_.refresh();
  view_.show_range({6 * kStep, 7 * kStep});
  const SpanAddress bucket =
      place(1, 5, 2);  // two pieces per bucket: a receive that waits, and sends
  ASSERT_EQ(span(bucket).step, 6);
  const QRectF box = view_.rect_of(bucket);
  EXPECT_LT(box.bottom(), view_.rect_of(place(1, 3, 0)).top()) << "above the sends";
  const QImage seen = picture();
  const auto at = [&](double fraction) {
    return seen.pixelColor(qRound(box.left() + fraction * box.width()), qRound(box.bottom()) - 2);
  };
  const TimelineColors colors = timeline_colors();
  EXPECT_EQ(at(0.5), colors.of(SpanKind::receive)) << "the third of five parts";
  EXPECT_NE(at(0.2), colors.of(SpanKind::receive)) << "two parts wait";
  EXPECT_EQ(at(0.8).rgb(), colors.of(SpanKind::send).rgb());
  const QPoint in_sends(qRound(box.left() + 0.8 * box.width()), qRound(box.center().y()));
  EXPECT_EQ(view_.place_at(in_sends), place(1, 5, 3));
  QMouseEvent over(QEvent::MouseMove, in_sends, view_.viewport()->mapToGlobal(in_sends),
                   Qt::NoButton, Qt::NoButton, {});
  QApplication::sendEvent(view_.viewport(), &over);
  EXPECT_EQ(view_.reading().title, "AR.b0");
  EXPECT_THAT(view_.reading().lines.join("; "),
              test::HasAll("waits 200.000 µs", "for 100.000 µs", "only sends for 200.000 µs"));
  view_.select(bucket);
  view_.setFocus();
  press(Qt::Key_Right);
  ASSERT_TRUE(view_.selected());
  EXPECT_EQ(span(*view_.selected()).step, 7)
      << "the next bucket, and not another piece of this one";
  press(Qt::Key_Left);
  EXPECT_EQ(span(*view_.selected()).step, 6);
}

TEST_F(TimelineViewTest, rubber_band_zooms_and_double_click_on_free_space_resets) {
  const TimeRange before = view_.view();
  drag({400, 150}, {600, 200});
  EXPECT_LT(view_.view().width(), before.width() / 3);
  QTest::mouseDClick(view_.viewport(), Qt::LeftButton, {}, middle(place(0, 1, 3)) + QPoint(0, 200));
  EXPECT_EQ(view_.view(), view_.home_range());
}

TEST_F(TimelineViewTest, wheel_zooms_at_the_pointer_unless_following) {
  view_.set_following(false);
  const QPoint at = middle(place(0, 2, 10));
  const Nanoseconds width = view_.view().width();
  const double x = view_.rect_of(place(0, 2, 10)).center().x();
  turn_wheel(at, 240, Qt::ControlModifier);
  EXPECT_LT(view_.view().width(), width);
  EXPECT_NEAR(view_.rect_of(place(0, 2, 10)).center().x(), x, 1.5);
}

TEST_F(TimelineViewTest, panning_stops_following_and_reports_it) {
  QSignalSpy emissions(&view_, &TimelineView::following_changed);
  ASSERT_TRUE(view_.following());
  const TimeRange before = view_.view();
  drag({500, 150}, {600, 150}, Qt::ShiftModifier);
  EXPECT_FALSE(view_.following());
  EXPECT_EQ(emissions.size(), 1);
  EXPECT_LT(view_.view().begin, before.begin);
  add_step(5);
  read();
  const TimeRange panned_to = view_.view();
  view_.refresh();
  EXPECT_EQ(view_.view(), panned_to) << "new ops do not move the view";
  press(Qt::Key_F);
  EXPECT_TRUE(view_.following());
  EXPECT_GE(view_.view().end, 5 * kStep + 990'000);
}

TEST_F(TimelineViewTest, follows_the_last_op_with_the_selected_width) {
  press(Qt::Key_Plus);
  const Nanoseconds width = view_.view().width();
  for (int step = 5; step < 40; ++step) add_step(step);
  read();
  view_.refresh();
  EXPECT_EQ(view_.view().width(), width);
  EXPECT_GE(view_.view().end, 39 * kStep + 990'000);
}

TEST_F(TimelineViewTest, frozen_view_is_unchanged_and_can_be_navigated) {
  view_.set_frozen(true);
  const QImage before = picture();
  for (int step = 5; step < 9; ++step) add_step(step);
  read();
  view_.refresh();
  EXPECT_EQ(picture(), before);
  press(Qt::Key_0);
  EXPECT_LT(view_.view().end, 6 * kStep) << "spans at the time of the freeze";
  view_.set_frozen(false);
  view_.home();
  EXPECT_GT(view_.view().end, 8 * kStep);
}

TEST_F(TimelineViewTest, arrow_keys_move_between_ops_and_lanes) {
  view_.select(place(0, 2, 9));
  press(Qt::Key_Right);
  EXPECT_EQ(view_.selected(), place(0, 2, 10));
  press(Qt::Key_Left);
  press(Qt::Key_Left);
  EXPECT_EQ(view_.selected(), place(0, 2, 8));
  press(Qt::Key_Down);
  EXPECT_EQ(view_.selected()->lane, 3);
  press(Qt::Key_Down);
  press(Qt::Key_Down);
  EXPECT_EQ(view_.selected()->rank, 1) << "on to the next rank";
  press(Qt::Key_Up);
  EXPECT_EQ(view_.selected()->rank, 0);
}

TEST_F(TimelineViewTest, home_and_end_move_to_the_ends_of_a_lane_and_show_them) {
  view_.select(place(0, 2, 9));
  press(Qt::Key_Home);
  EXPECT_EQ(view_.selected(), place(0, 2, 0));
  EXPECT_LE(view_.view().begin, span(place(0, 2, 0)).begin);
  press(Qt::Key_Left);
  EXPECT_EQ(view_.selected(), place(0, 2, 0)) << "there is no earlier span";
  press(Qt::Key_End);
  EXPECT_EQ(view_.selected(), place(0, 2, 14));
  EXPECT_GE(view_.view().end, span(place(0, 2, 14)).end);
  press(Qt::Key_Escape);
  EXPECT_EQ(view_.selected(), std::nullopt);
}

TEST_F(TimelineViewTest, arrow_key_without_a_selection_begins_at_visible_ops) {
  press(Qt::Key_Right);
  ASSERT_TRUE(view_.selected());
  EXPECT_TRUE(view_.viewport()->rect().intersects(view_.rect_of(*view_.selected()).toRect()));
}

TEST_F(TimelineViewTest, enter_requests_the_plan_of_the_selected_op) {
  QSignalSpy wanted(&view_, &TimelineView::plan_requested);
  press(Qt::Key_Return);
  EXPECT_EQ(wanted.size(), 0);
  view_.select(place(1, 3, 2));
  press(Qt::Key_Return);
  EXPECT_EQ(wanted.size(), 1);
}

TEST_F(TimelineViewTest, click_on_the_ruler_toggles_a_step) {
  const QPoint at(qRound(view_.rect_of(place(0, 2, 10)).center().x()),
                  qRound(view_.rect_of(place(0, 1, 3)).top()) - 12);
  click(at);
  EXPECT_EQ(view_.chosen_step(), 3);
  click(at);
  EXPECT_EQ(view_.chosen_step(), std::nullopt);
}

TEST_F(TimelineViewTest, reports_merged_ops_and_zooms_on_click) {
  (void)picture();
  EXPECT_FALSE(view_.merged());
  for (int step = 5; step < 3000; ++step) add_step(step);
  read();
  view_.home();
  (void)picture();
  EXPECT_TRUE(view_.merged());
  const QPoint at(600, middle(place(0, 2, 9)).y());
  QTest::mouseMove(view_.viewport(), at);
  ASSERT_TRUE(QTest::qWaitFor([&] { return view_.reading().title.contains("ops too dense"); }))
      << view_.reading().title.toStdString();
  const Nanoseconds width = view_.view().width();
  click(at);
  EXPECT_LT(view_.view().width(), width / 2);
  EXPECT_EQ(view_.selected(), std::nullopt);
}

TEST_F(TimelineViewTest, merged_column_is_filled_in_proportion_to_its_time) {
  for (int step = 5; step < 3000; ++step) add_step(step);
  read();
  view_.home();
  const QImage seen = picture();
  const QRectF lane = view_.rect_of(place(0, 1, 9));
  int filled = 0;
  const int x = 600, top = qRound(lane.top()), bottom = qRound(lane.bottom());
  for (int y = top; y < bottom; ++y)
    filled += seen.pixelColor(x, y) == timeline_colors().of(SpanKind::input);
  EXPECT_GE(filled, 1) << "5 % of the time: it is seen";
  EXPECT_LE(filled, 3) << "nothing else is selected";
}

TEST_F(TimelineViewTest, many_ranks_scroll_and_thin_lanes_show_more_of_them) {
  const int tall = view_.verticalScrollBar()->maximum();
  RecordedOps many(32);
  for (int rank = 0; rank < 32; ++rank) many.add(rank, {ran(kForward, 0, 1000)});
  StepTimes none;
  view_.set_source(&many.store(), &many.history(), &none);
  EXPECT_GT(view_.verticalScrollBar()->maximum(), tall + 1000);
  const int before = view_.verticalScrollBar()->maximum();
  view_.set_thin(true);
  EXPECT_LT(view_.verticalScrollBar()->maximum(), before / 2);
  view_.select(SpanAddress{31, 2, 0, 0});
  EXPECT_TRUE(view_.viewport()->rect().contains(view_.rect_of({31, 2, 0, 0}).center().toPoint()));
  view_.set_source(nullptr, nullptr, nullptr);
}

TEST_F(TimelineViewTest, shows_a_hint_without_a_run_in_both_themes) {
  view_.set_source(nullptr, nullptr, nullptr);
  view_.set_empty_text("press Run");
  for (const auto kind : {Theme::Kind::light, Theme::Kind::dark}) {
    Theme::instance().apply(kind, 2);
    const QImage seen = picture();
    double best = 1;
    for (int y = 0; y < seen.height(); ++y)
      for (int x = 0; x < seen.width(); ++x)
        best = std::max(best, contrast(seen.pixelColor(x, y), seen.pixelColor(0, 0)));
    EXPECT_GE(best, 4.5);
  }
  press(Qt::Key_Right);
  click({500, 100});
  EXPECT_EQ(view_.selected(), std::nullopt);
}

TEST_F(TimelineViewTest, names_of_ops_are_readable_on_every_color_of_both_themes) {
  for (const auto kind : {Theme::Kind::light, Theme::Kind::dark}) {
    Theme::instance().apply(kind);
    for (const QColor& color : timeline_colors().kinds)
      EXPECT_GE(contrast(text_on(color), color), 4.5) << color.name().toStdString();
  }
}

}  // namespace
}  // namespace trainyard::ui
