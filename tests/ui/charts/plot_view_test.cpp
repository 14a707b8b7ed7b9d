// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of a chart, and the texts beside them.
#include <QImage>
#include <QTest>
#include <cstdlib>

#include "tests/ui/charts/plot_view_fixture.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;

TEST_F(PlotViewTest, shows_a_hint_without_points) {
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
    EXPECT_LT(plot_.shown().at(count - 1, 1, Side::left).x(),
              plot_.canvas().plot_area().right() - 2)
        << count;
  }
}

TEST_F(PlotViewTest, scales_y_to_visible_points) {
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

TEST_F(PlotViewTest, has_a_badge_only_if_points_are_thinned) {
  add(std::vector<double>(500, 1.0));
  plot_.refresh();
  EXPECT_THAT(all_badges(), Not(HasSubstr("thinned")));
  add(std::vector<double>(50'000, 1.0), 500);
  plot_.refresh();
  EXPECT_THAT(all_badges(), HasSubstr("thinned, min/max kept"));
  EXPECT_LE(drawn().lines.size() + drawn().columns.size(), 640u);
  EXPECT_GT(drawn().columns.size(), 300u);
}

// The line of a column may begin in the previous one: two adjacent columns cover a full span of
// thinned points.
TEST_F(PlotViewTest, dense_lines_cover_every_column_from_minimum_to_maximum) {
  std::vector<double> saw(50'000);
  for (std::size_t i = 0; i < saw.size(); ++i) saw[i] = static_cast<double>(i % 10);
  add(saw);
  plot_.refresh();
  const double low = plot_.shown().at(0, 0, Side::left).y(),
               high = plot_.shown().at(0, 9, Side::left).y();
  const auto& columns = drawn().columns;
  ASSERT_GT(columns.size(), 300u);
  for (std::size_t i = 1; i + 2 < columns.size(); ++i) {
    const QRect both = columns[i] | columns[i + 1];
    EXPECT_EQ(both.width(), 2);
    EXPECT_NEAR(both.top(), high, 2);
    EXPECT_NEAR(both.bottom(), low, 2);
  }
}

TEST_F(PlotViewTest, point_without_neighbors_is_a_dot) {
  plot_.append("a", points_of({1, 2}));
  plot_.append("a", points_of({5}, 7));
  plot_.refresh();
  EXPECT_EQ(drawn().lines.size(), 1u);
  EXPECT_EQ(drawn().dots.size(), 1u);
}

TEST_F(PlotViewTest, dense_parts_of_a_dashed_line_are_solid) {
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

TEST_F(PlotViewTest, frozen_view_is_unchanged_while_recording_continues) {
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

// True if this color is painted there, within two pixels up or down.
bool is_painted(const QImage& image, const QPointF& at, const QColor& color, const QColor& ground) {
  const auto apart = [](const QColor& a, const QColor& b) {
    return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) +
           std::abs(a.blue() - b.blue());
  };
  for (int up = -2; up <= 2; ++up)
    if (const QColor seen = image.pixelColor(at.toPoint() + QPoint(0, up));
        apart(seen, color) < apart(seen, ground))
      return true;
  return false;
}

TEST_F(PlotViewTest, lines_are_aligned_with_axes_that_moved) {
  add({1, 3.3});
  plot_.refresh();
  plot_.set_frozen(true);
  const QRectF before = plot_.canvas().plot_area();
  plot_.resize(900, 500);
  const auto area = [&] { return plot_.canvas().plot_area(); };
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return area().width() > before.width() + 100 && area().height() > before.height() + 50;
  }));
  EXPECT_TRUE(plot_.shown().area == area());
  const QPointF placed = plot_.canvas().lines().placing().map(drawn().lines.back().p2()),
                there = plot_.shown().at(1, 3.3, Side::left);
  EXPECT_NEAR(placed.x(), there.x(), 0.01);
  EXPECT_NEAR(placed.y(), there.y(), 0.01);
  const QPointF middle = plot_.shown().at(0.45, 1 + 0.45 * 2.3, Side::left);
  EXPECT_TRUE(is_painted(plot_.canvas().grab().toImage(), middle, drawn().pen.color(),
                         Theme::instance().colors().card));
  plot_.set_frozen(false);
  plot_.refresh();
  EXPECT_TRUE(plot_.canvas().lines().placing().isIdentity());
}

TEST_F(PlotViewTest, draws_many_additions_in_one_frame) {
  plot_.refresh();
  for (int i = 0; i < 100; ++i) add({1.0 * i}, i);
  EXPECT_TRUE(plot_.canvas().lines().series().at(0).lines.empty());
  EXPECT_TRUE(QTest::qWaitFor([&] { return drawn().lines.size() == 99; }));
}

TEST_F(PlotViewTest, follows_the_theme) {
  plot_.put_series("a", {.label = "a", .color = 1});
  add({1, 2});
  Theme::instance().apply(Theme::Kind::dark);
  plot_.refresh();
  const QColor dark = drawn().pen.color();
  EXPECT_EQ(dark, Theme::instance().series_color(1));
  Theme::instance().apply(Theme::Kind::light);
  plot_.refresh();
  EXPECT_NE(drawn().pen.color(), dark);
}

}  // namespace
}  // namespace trainyard::ui
