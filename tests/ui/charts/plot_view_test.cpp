// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/file.h"
#include "tests/ui/pictures.h"
#include "ui/charts/plot_export.h"
#include "ui/charts/plot_legend.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<SeriesPoint> points_of(const std::vector<double>& values, double first_step = 0) {
  std::vector<SeriesPoint> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = first_step + static_cast<double>(i);
    points.push_back({step, step * 128, step * 0.01, values[i]});
  }
  return points;
}

class PlotViewTest : public testing::Test {
 protected:
  PlotViewTest() {
    plot_.resize(640, 400);
    plot_.show();
    plot_.put_series("a", {.label = "a"});
  }
  void add(const std::vector<double>& values, double first_step = 0) { plot_.append("a", points_of(values, first_step)); }
  std::string all_badges() const { return plot_.badges().join(" | ").toStdString(); }
  const DrawnSeries& drawn(std::size_t index = 0) { return plot_.canvas().lines().series().at(index); }
  PlotView plot_;
};

TEST_F(PlotViewTest, says_what_to_do_while_there_is_no_point) {
  plot_.refresh();
  EXPECT_THAT(plot_.overlay().empty.toStdString(), HasSubstr("press Run"));
  add({1, 2});
  plot_.refresh();
  EXPECT_EQ(plot_.overlay().empty, "");
}

TEST_F(PlotViewTest, shows_the_last_point_left_of_the_frame) {
  for (const int count : {2, 11, 100, 101, 4999}) {
    plot_.clear_series();
    plot_.put_series("a", {.label = "a"});
    add(std::vector<double>(static_cast<std::size_t>(count), 1.0));
    plot_.refresh();
    EXPECT_GT(plot_.shown().x.high, count - 1) << count;
    EXPECT_LT(plot_.shown().at(count - 1, 1, Side::left).x(), plot_.canvas().plot_area().right() - 2) << count;
  }
}

TEST_F(PlotViewTest, scales_y_to_what_is_visible) {
  std::vector<double> values(1000, 1.0);
  values[10] = 500;
  values[990] = 0.25;
  add(values);
  plot_.refresh();
  EXPECT_GE(plot_.shown().y[0].high, 500);
  plot_.zoom_at({1, 0}, 0.1, false);  // the last tenth
  plot_.refresh();
  EXPECT_LT(plot_.shown().y[0].high, 2);
  EXPECT_LE(plot_.shown().y[0].low, 0.25);
  plot_.home();
  plot_.refresh();
  EXPECT_GE(plot_.shown().y[0].high, 500);
}

TEST_F(PlotViewTest, wears_a_badge_when_it_thins_and_only_then) {
  add(std::vector<double>(500, 1.0));
  plot_.refresh();
  EXPECT_THAT(all_badges(), Not(HasSubstr("thinned")));
  add(std::vector<double>(50'000, 1.0), 500);
  plot_.refresh();
  EXPECT_THAT(all_badges(), HasSubstr("thinned, min/max kept"));
  EXPECT_LE(drawn().lines.size() + drawn().columns.size(), 640u);
  EXPECT_GT(drawn().columns.size(), 300u);
}

// What a column shows may begin in the one before it: two neighbours hold a whole span of thinned points.
TEST_F(PlotViewTest, dense_lines_cover_every_column_from_the_least_to_the_greatest_value) {
  std::vector<double> saw(50'000);
  for (std::size_t i = 0; i < saw.size(); ++i) saw[i] = static_cast<double>(i % 10);
  add(saw);
  plot_.refresh();
  const double low = plot_.shown().at(0, 0, Side::left).y(), high = plot_.shown().at(0, 9, Side::left).y();
  const auto& columns = drawn().columns;
  ASSERT_GT(columns.size(), 300u);
  for (std::size_t i = 1; i + 2 < columns.size(); ++i) {
    const QRect both = columns[i] | columns[i + 1];
    EXPECT_EQ(both.width(), 2);
    EXPECT_NEAR(both.top(), high, 2);
    EXPECT_NEAR(both.bottom(), low, 2);
  }
}

TEST_F(PlotViewTest, a_log_scale_survives_zero_negative_nan_and_infinity_and_counts_them) {
  add({1, 10, 0, -3, kNaN, std::numeric_limits<double>::infinity(), 100, 1000});
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_EQ(drawn().lines.size(), 2u);  // 1-10 and 100-1000
  EXPECT_EQ(plot_.shown().y[0].low, 0);
  EXPECT_EQ(plot_.shown().y[0].high, 3);
  EXPECT_THAT(all_badges(), HasSubstr("2 values ≤ 0 not drawn"));
  EXPECT_THAT(all_badges(), HasSubstr("2 NaN or Inf not drawn"));
}

TEST_F(PlotViewTest, a_log_scale_marks_at_its_foot_where_values_are_missing) {
  add({1, 10, 0, -3, kNaN, 100});
  plot_.refresh();
  ASSERT_EQ(drawn().gaps.size(), 1u) << "a linear scale shows all but NaN";
  plot_.set_log(true);
  plot_.refresh();
  ASSERT_EQ(drawn().gaps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(drawn().gaps[i], plot_.shown().at(2.0 + static_cast<double>(i), 1, Side::left).x(), 1e-9);
  const QRectF area = plot_.canvas().plot_area();
  const QImage picture = plot_.canvas().grab().toImage();
  const QPoint mark = (QPointF(std::floor(drawn().gaps[0] / 4) * 4, std::round(area.bottom()) - 4) * picture.devicePixelRatio()).toPoint();
  EXPECT_EQ(picture.pixelColor(mark).rgb(), drawn().pen.color().rgb());
}

TEST_F(PlotViewTest, values_that_are_missing_for_long_are_a_low_row_of_marks_and_no_bar) {
  add({1, 1, 1});
  add(std::vector<double>(2000, kNaN), 3);
  plot_.refresh();
  const double foot = std::round(plot_.canvas().plot_area().bottom());
  const QImage picture = plot_.canvas().grab().toImage();
  int marked = 0, high = 0, looked_at = 0;
  const auto is_mark = [&](double x, double up) {
    return picture.pixelColor((QPointF(x, foot - up) * picture.devicePixelRatio()).toPoint()).rgb() == drawn().pen.color().rgb();
  };
  for (double x = std::ceil(drawn().gaps[10]); x < drawn().gaps.back() - 10; ++x, ++looked_at) marked += is_mark(x, 3), high += is_mark(x, 8);
  ASSERT_GT(looked_at, 300);
  EXPECT_NEAR(marked, looked_at / 2, 4);
  EXPECT_EQ(high, 0);
}

TEST_F(PlotViewTest, marks_of_a_million_missing_values_are_at_most_one_a_pixel) {
  plot_.set_log(true);
  add(std::vector<double>(1'000'000, 0.0));
  plot_.refresh();
  EXPECT_LE(drawn().gaps.size(), 640u);
  EXPECT_GT(drawn().gaps.size(), 300u);
}

TEST_F(PlotViewTest, a_point_without_neighbours_is_a_dot) {
  plot_.append("a", points_of({1, 2}));
  plot_.append("a", points_of({5}, 7));
  plot_.refresh();
  EXPECT_EQ(drawn().lines.size(), 1u);
  EXPECT_EQ(drawn().dots.size(), 1u);
}

TEST_F(PlotViewTest, reads_out_logged_points_only) {
  plot_.append("a", points_of({1, 2}));
  plot_.append("a", points_of({9}, 100));
  plot_.refresh();
  emit plot_.canvas().hovered(0.4);  // about step 40: nothing was logged there
  const double x = *plot_.overlay().x;
  EXPECT_NEAR(x, plot_.shown().at(1, 1, Side::left).x(), 1e-9);
  ASSERT_EQ(plot_.overlay().rows.size(), 1u);
  EXPECT_EQ(plot_.overlay().rows[0].text.toStdString(), "a: 2");
  emit plot_.canvas().hovered(std::nullopt);
  EXPECT_FALSE(plot_.overlay().x);
}

TEST_F(PlotViewTest, a_group_shares_its_crosshair_and_a_chart_without_a_point_there_reads_nothing) {
  CrosshairGroup group;
  PlotView other;
  other.resize(640, 400);
  other.show();
  other.put_series("b", {.label = "b"});
  other.append("b", points_of(std::vector<double>(50, 4.0), 0));
  other.append("b", points_of({7}, 1000));
  add(std::vector<double>(1001, 3.0));
  for (PlotView* plot : {&plot_, &other}) {
    plot->set_crosshair_group(&group);
    plot->refresh();
  }
  emit plot_.canvas().hovered(0.5);
  ASSERT_TRUE(other.overlay().x);
  EXPECT_EQ(plot_.overlay().rows.size(), 1u);
  EXPECT_TRUE(other.overlay().rows.empty());
}

TEST_F(PlotViewTest, a_dashed_line_is_solid_where_it_is_so_dense_that_dashes_would_look_like_bursts) {
  plot_.put_series("a", {.label = "a", .dashed = true});
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(i % 2);
  add(values);
  plot_.refresh();
  EXPECT_EQ(drawn().pen.style(), Qt::SolidLine);
  plot_.zoom_at({0, 0}, 0.01, false);
  plot_.refresh();
  EXPECT_EQ(drawn().pen.style(), Qt::CustomDashLine);
}

TEST_F(PlotViewTest, smoothing_keeps_the_raw_line) {
  add({1, 0, 1, 0, 1});
  plot_.set_smoothing(0.9);
  plot_.refresh();
  ASSERT_EQ(plot_.canvas().lines().series().size(), 2u);
  EXPECT_EQ(drawn(0).lines.size(), 4u);
  EXPECT_LT(drawn(0).pen.color().alpha(), 255);
  EXPECT_EQ(drawn(1).lines.size(), 4u);
  EXPECT_EQ(drawn(1).pen.color().alpha(), 255);
  plot_.set_smoothing(0);
  plot_.refresh();
  EXPECT_EQ(plot_.canvas().lines().series().size(), 1u);
}

TEST_F(PlotViewTest, frozen_it_stands_still_and_goes_on_recording) {
  add({1, 2, 3});
  plot_.refresh();
  const double high = plot_.shown().x.high;
  plot_.set_frozen(true);
  add(std::vector<double>(1000, 5.0), 3);
  plot_.refresh();
  EXPECT_EQ(plot_.shown().x.high, high);
  EXPECT_THAT(all_badges(), HasSubstr("frozen"));
  EXPECT_EQ(plot_.model().find("a")->points.size(), 1003u);
  plot_.set_frozen(false);
  plot_.refresh();
  EXPECT_GT(plot_.shown().x.high, 1000);
  EXPECT_THAT(all_badges(), Not(HasSubstr("frozen")));
}

TEST_F(PlotViewTest, draws_many_additions_in_one_frame_by_itself) {
  plot_.refresh();
  for (int i = 0; i < 100; ++i) add({1.0 * i}, i);
  EXPECT_TRUE(plot_.canvas().lines().series().at(0).lines.empty());
  EXPECT_TRUE(QTest::qWaitFor([&] { return drawn().lines.size() == 99; }));
}

TEST_F(PlotViewTest, a_box_zooms_and_a_double_click_or_home_goes_back) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  const Span home = plot_.shown().x;
  const QRectF area = plot_.canvas().plot_area();
  QWidget* port = plot_.canvas().viewport();
  QTest::mousePress(port, Qt::LeftButton, {}, (area.topLeft() + QPointF(area.width() * 0.25, 10)).toPoint());
  QTest::mouseMove(port, (area.topLeft() + QPointF(area.width() * 0.5, 100)).toPoint());
  QTest::mouseRelease(port, Qt::LeftButton, {}, (area.topLeft() + QPointF(area.width() * 0.5, 100)).toPoint());
  plot_.refresh();
  EXPECT_NEAR(plot_.shown().x.low, home.low + 0.25 * home.width(), 0.5);
  EXPECT_NEAR(plot_.shown().x.high, home.low + 0.5 * home.width(), 0.5);
  QTest::keyClick(&plot_.canvas(), Qt::Key_Home);
  plot_.refresh();
  EXPECT_EQ(plot_.shown().x.high, home.high);
}

void turn_wheel(PlotView& plot, int by, Qt::KeyboardModifiers keys) {
  const QPointF at = plot.canvas().plot_area().center();
  QWheelEvent wheel(at, plot.canvas().viewport()->mapToGlobal(at), {}, {0, by}, Qt::NoButton, keys, Qt::NoScrollPhase, false);
  QApplication::sendEvent(plot.canvas().viewport(), &wheel);
  plot.refresh();
}

TEST_F(PlotViewTest, the_wheel_zooms_with_ctrl_only_and_never_beyond_what_home_shows) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  const PlotMap home = plot_.shown();
  turn_wheel(plot_, 480, {});
  EXPECT_EQ(plot_.shown(), home);
  turn_wheel(plot_, 480, Qt::ControlModifier);
  EXPECT_LT(plot_.shown().x.width(), home.x.width() * 0.6);
  EXPECT_EQ(plot_.shown().y[0], home.y[0]);
  for (int i = 0; i < 20; ++i) turn_wheel(plot_, -480, Qt::ControlModifier);
  EXPECT_EQ(plot_.shown().x, home.x);
  turn_wheel(plot_, 480, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_LT(plot_.shown().y[0].width(), home.y[0].width() * 0.6);
  EXPECT_EQ(plot_.shown().x, home.x);
  for (int i = 0; i < 20; ++i) turn_wheel(plot_, -480, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(plot_.shown().y[0], home.y[0]);
}

TEST_F(PlotViewTest, a_view_is_moved_to_the_ends_of_what_home_shows_and_no_farther) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  const PlotMap home = plot_.shown();
  for (int i = 0; i < 30; ++i) QTest::keyClick(&plot_.canvas(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(plot_.shown().x, home.x) << "there is nothing else to see";
  plot_.zoom_at({0.5, 0.5}, 0.25, false);
  plot_.zoom_at({0.5, 0.5}, 0.25, true);
  plot_.refresh();
  const double width = plot_.shown().x.width();
  for (int i = 0; i < 100; ++i) QTest::keyClick(&plot_.canvas(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(plot_.shown().x.low, home.x.low);
  EXPECT_NEAR(plot_.shown().x.width(), width, 1e-9);
  for (int i = 0; i < 100; ++i) plot_.pan({0.3, 0.3});
  EXPECT_NEAR(plot_.shown().x.high, home.x.high, 1e-9);
  EXPECT_NEAR(plot_.shown().y[0].high, home.y[0].high, 1e-9);
  EXPECT_NEAR(plot_.shown().x.width(), width, 1e-9);
}

TEST_F(PlotViewTest, zoomed_out_again_it_follows_a_run) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  turn_wheel(plot_, 480, Qt::ControlModifier);
  for (int i = 0; i < 5; ++i) turn_wheel(plot_, -480, Qt::ControlModifier);
  add(std::vector<double>(100, 1.0), 100);
  plot_.refresh();
  EXPECT_GE(plot_.shown().x.high, 199);
}

TEST_F(PlotViewTest, a_line_alone_is_named_if_it_has_a_name) {
  PlotView named, nameless;
  named.put_series("bus", {.label = "host0 bus (shared memory)"});
  nameless.put_series("loss", {});
  for (PlotView* plot : {&named, &nameless}) plot->refresh();
  EXPECT_FALSE(named.legend().isHidden());
  EXPECT_TRUE(nameless.legend().isHidden());
}

TEST_F(PlotViewTest, the_legend_hides_a_line_by_mouse_or_key) {
  plot_.put_series("b", {.label = "b", .colour = 1});
  add({1, 2});
  plot_.append("b", points_of({100, 200}));
  plot_.refresh();
  EXPECT_GE(plot_.shown().y[0].high, 200);
  QToolButton* button = plot_.legend().button("b");
  ASSERT_TRUE(button);
  EXPECT_NE(button->focusPolicy() & Qt::TabFocus, 0);
  QTest::keyClick(button, Qt::Key_Space);
  plot_.refresh();
  EXPECT_LT(plot_.shown().y[0].high, 5);
  EXPECT_EQ(plot_.canvas().lines().series().size(), 1u);
}

class StackTest : public PlotViewTest {
 protected:
  StackTest() {
    plot_.clear_series();
    for (const char* id : {"low", "middle", "high"}) plot_.put_series(id, {.label = id, .stacked = true});
  }
  void add_to(const char* id, const std::vector<double>& values, double first_step = 0) { plot_.append(id, points_of(values, first_step)); }
  double top(const char* id, std::size_t point) { return plot_.model().find(id)->tops.value(point); }
};

TEST_F(StackTest, parts_stand_on_each_other_and_the_uppermost_line_is_their_sum) {
  add_to("low", {1, 2, 3});
  add_to("middle", {10, 10, 10});
  add_to("high", {100, 0, 100});
  plot_.refresh();
  EXPECT_EQ(top("low", 2), 3);
  EXPECT_EQ(top("middle", 2), 13);
  EXPECT_EQ(top("high", 2), 113);
  EXPECT_EQ(plot_.shown().y[0].low, 0) << "areas start at zero";
  EXPECT_GE(plot_.shown().y[0].high, 113);
  ASSERT_EQ(plot_.canvas().lines().series().size(), 3u);
  EXPECT_EQ(drawn(0).areas.size(), 1u);
  EXPECT_NEAR(drawn(0).lines.back().y2(), plot_.shown().at(2, 113, Side::left).y(), 1e-9) << "painted first: the parts below cover its foot";
}

TEST_F(StackTest, a_part_waits_for_those_below_and_what_they_never_reported_is_a_gap) {
  add_to("high", {100, 100, 100, 100});
  add_to("middle", {10, 10, 10, 10});
  plot_.refresh();
  EXPECT_TRUE(plot_.model().find("high")->tops.empty());
  add_to("low", {1, 1});
  add_to("low", {1}, 3);
  plot_.refresh();
  const PointSeries& tops = plot_.model().find("high")->tops;
  ASSERT_EQ(tops.size(), 3u);
  EXPECT_EQ(tops.at(2).step, 3);
  EXPECT_EQ(drawn(0).lines.size(), 1u) << "no line over step 2";
}

TEST_F(StackTest, a_hidden_part_leaves_the_sum_of_the_others) {
  for (const char* id : {"low", "middle", "high"}) add_to(id, {1, 1});
  plot_.set_series_visible("middle", false);
  plot_.refresh();
  EXPECT_EQ(top("high", 1), 2);
  plot_.set_series_visible("middle", true);
  plot_.refresh();
  EXPECT_EQ(top("high", 1), 3);
}

TEST_F(StackTest, reads_each_part_and_their_sum) {
  add_to("low", {1, 2});
  add_to("middle", {10, 20});
  add_to("high", {100, 200});
  plot_.refresh();
  emit plot_.canvas().hovered(0.1);
  QStringList rows;
  for (const auto& row : plot_.overlay().rows) rows << row.text;
  EXPECT_EQ(rows, QStringList({"low: 2", "middle: 20", "high: 200", "together: 222"})) << rows.join(" | ").toStdString();
  ASSERT_EQ(plot_.overlay().points.size(), 3u);
  EXPECT_NEAR(plot_.overlay().points[2].first.y(), plot_.shown().at(1, 222, Side::left).y(), 1e-9);
}

TEST_F(StackTest, on_a_log_scale_parts_are_lines_of_their_own_and_a_badge_says_so) {
  add_to("low", {1, 1});
  add_to("middle", {100, 100});
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_THAT(all_badges(), HasSubstr("not stacked"));
  EXPECT_TRUE(drawn(0).areas.empty());
  EXPECT_EQ(plot_.shown().y[0].high, 2);
}

TEST_F(PlotViewTest, lines_stand_in_the_legend_in_the_order_asked_for_whichever_came_first) {
  for (const char* id : {"c", "b"}) plot_.put_series(id, {.label = id});
  plot_.order_series({"a", "b", "c"});
  plot_.refresh();
  ASSERT_TRUE(QTest::qWaitFor([&] { return plot_.legend().button("c")->x() > 0; }));
  EXPECT_LT(plot_.legend().button("a")->x(), plot_.legend().button("b")->x());
  EXPECT_LT(plot_.legend().button("b")->x(), plot_.legend().button("c")->x());
}

TEST_F(PlotViewTest, a_reading_of_many_lines_stays_within_the_plot) {
  for (const int height : {400, 200}) {
    plot_.resize(640, height);
    for (int i = 0; i < 40; ++i) {
      plot_.put_series(QString::number(i), {.label = QString("rank %1").arg(i)});
      plot_.append(QString::number(i), points_of({1, 2}));
    }
    plot_.refresh();
    ASSERT_TRUE(QTest::qWaitFor([&] { return plot_.canvas().plot_area() == plot_.shown().area; }));
    emit plot_.canvas().hovered(0.5);
    const auto& rows = plot_.overlay().rows;
    ASSERT_GE(rows.size(), 2u) << height;
    EXPECT_TRUE(rows.back().text.startsWith("and ")) << rows.back().text.toStdString();
    QFont font = plot_.font();
    font.setPointSizeF(font.pointSizeF() * 0.9);
    const ReadingLayout reading = lay_out_reading(plot_.overlay(), plot_.shown().area, font);
    EXPECT_LE(reading.box.bottom(), plot_.shown().area.bottom() + 1) << height;
  }
}

TEST_F(PlotViewTest, a_legend_of_many_lines_scrolls_and_a_picture_shows_it_whole) {
  for (int i = 0; i < 40; ++i) plot_.put_series(QString::number(i), {.label = QString("run of the morning, rank %1").arg(i)});
  plot_.refresh();
  PlotLegend& legend = plot_.legend();
  const auto hidden = [&] { return legend.full_height() - legend.height(); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return hidden() > plot_.height() / 2 && legend.verticalScrollBar()->maximum() >= hidden(); }));
  EXPECT_LE(legend.height(), plot_.height() / 4);
  EXPECT_GE(plot_.canvas().height(), plot_.height() / 2);
  QToolButton* last = legend.button("39");
  EXPECT_TRUE(last->visibleRegion().isEmpty());
  legend.button("38")->setFocus();
  QTest::keyClick(legend.button("38"), Qt::Key_Tab);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !last->visibleRegion().isEmpty(); })) << "the legend follows the keyboard";
  EXPECT_EQ(plot_.full_size().height(), plot_.height() + legend.full_height() - legend.height());
}

TEST_F(PlotViewTest, exports_every_point_as_csv_whatever_is_shown) {
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(std::sin(i) / 3);
  values[5] = kNaN;
  add(values);
  plot_.set_series_visible("a", false);
  plot_.zoom_at({0.5, 0.5}, 0.1, false);
  const std::string csv = csv_of(plot_.model());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 20'001);
  char last[64];
  std::snprintf(last, sizeof last, "\"a\",19999,%.17g,%.17g,%.17g\n", 19999.0 * 128, 19999 * 0.01, values.back());
  EXPECT_TRUE(csv.ends_with(last));
  EXPECT_THAT(csv, HasSubstr(",nan\n"));
}

TEST_F(PlotViewTest, writes_pictures_and_refuses_other_suffixes) {
  add({1, 3, 2});
  plot_.set_title("Loss");
  QTemporaryDir directory;
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.png")));
  EXPECT_EQ(QImage(directory.filePath("a.png")).width(), 2 * plot_.width());
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.svg")));
  EXPECT_THAT(*base::read_file(directory.filePath("a.svg").toStdString(), 1 << 22), HasSubstr("<svg"));
  EXPECT_FALSE(save_plot(plot_, directory.filePath("a.bmp")));
}

TEST_F(PlotViewTest, the_legend_can_be_read_after_every_change_of_the_look) {
  plot_.put_series("b", {.label = "another line", .colour = 1});
  plot_.refresh();
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light, Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    QCoreApplication::processEvents();
    plot_.refresh();
    const QToolButton* button = plot_.legend().button("b");
    const QPoint words = button->mapTo(&plot_, QPoint(button->iconSize().width() + 8, 3));
    const QImage picture = plot_.grab(QRect(words, QSize(button->width() - button->iconSize().width() - 12, button->height() - 6))).toImage();
    EXPECT_GE(test::text_contrast(picture), test::kReadable) << Theme::instance().dark();
  }
}

TEST_F(PlotViewTest, follows_the_theme) {
  plot_.put_series("a", {.label = "a", .colour = 1});
  add({1, 2});
  Theme::instance().apply(Theme::Kind::dark);
  plot_.refresh();
  const QColor dark = drawn().pen.color();
  EXPECT_EQ(dark, Theme::instance().series_colour(1));
  Theme::instance().apply(Theme::Kind::light);
  plot_.refresh();
  EXPECT_NE(drawn().pen.color(), dark);
}

TEST(PlotScale, ticks_are_round_distinct_and_within_the_range) {
  for (const Span range : {Span{0, 1}, Span{-3, 12'345}, Span{0.99991, 0.99993}, Span{0, 3e9}, Span{1e-9, 4e-9}}) {
    const auto ticks = linear_ticks(range, 6, 1);
    ASSERT_GE(ticks.size(), 2u);
    QStringList labels;
    for (const Tick& tick : ticks) {
      EXPECT_GE(tick.at, range.low - 1e-6 * range.width());
      EXPECT_LE(tick.at, range.high + 1e-6 * range.width());
      labels << tick.label;
    }
    EXPECT_EQ(labels.removeDuplicates(), 0) << labels.join(" ").toStdString();
  }
  EXPECT_GE(log_ticks({-0.2, 0.1}, 6, 1).size(), 2u);
}

TEST(PlotScale, an_axis_has_two_ticks_within_its_range_however_few_are_asked_for) {
  const auto expect_two = [](const std::vector<Tick>& ticks, Span range, const char* kind) {
    const auto within = std::ranges::count_if(ticks, [&](const Tick& tick) { return tick.at >= range.low - 1e-6 && tick.at <= range.high + 1e-6; });
    EXPECT_GE(within, 2) << kind << " " << range.low << " to " << range.high;
  };
  for (const int about : {1, 2, 3})
    for (int from = -30; from < 30; ++from)
      for (int width = 1; width < 90; ++width) {
        const Span range{from * 0.173, from * 0.173 + width * 0.0917};
        expect_two(linear_ticks(range, about, 1), range, "linear");
        expect_two(linear_ticks(range, about, 1e-3), range, "linear, in thousandths");
        expect_two(log_ticks(range, about, 1), range, "logarithmic");
      }
}

TEST(PlotScale, units_take_prefixes_where_they_have_them) {
  EXPECT_EQ(axis_unit("B/s", 2.5e9).text, "GB/s");
  EXPECT_EQ(axis_unit("s", 0.004).text, "ms");
  EXPECT_EQ(axis_unit("samples/s", 1e6).text, "samples/s");
}

TEST_F(PlotViewTest, a_reading_shows_each_line_as_it_is_drawn) {
  plot_.put_series("b", {.label = "b", .dashed = true, .pale = true});
  add({1, 2});
  plot_.append("b", points_of({3, 4}));
  plot_.refresh();
  emit plot_.canvas().hovered(0.0);
  const auto& rows = plot_.overlay().rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].style, plot_.model().find("a")->style);
  EXPECT_EQ(rows[1].style, plot_.model().find("b")->style);
}

}  // namespace
}  // namespace trainyard::ui
