// SPDX-License-Identifier: GPL-3.0-or-later
// Axes that exclude rare extreme values.
#include <QAction>
#include <QMenu>
#include <algorithm>

#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Values 3 or 4, with 400 at every 200th point.
std::vector<double> spiked(std::size_t points) {
  std::vector<double> values(points);
  for (std::size_t i = 0; i < points; ++i)
    values[i] = i % 200 == 120 ? 400 : static_cast<double>(3 + i % 2);
  return values;
}

class PlotAxisLimit : public PlotViewTest {
 protected:
  PlotAxisLimit() { put("a", AxisLimit::percentile); }
  void put(const QString& id, AxisLimit reach, Joining joining = Joining::never) {
    plot_.put_series(id, {.label = id, .joining = joining, .reach = reach});
  }
  double top() {
    plot_.refresh();
    return plot_.shown().y[0].high;
  }
};

TEST_F(PlotAxisLimit, excludes_rare_extreme_values) {
  add(spiked(1000));
  EXPECT_LT(top(), 6);
  EXPECT_THAT(all_badges(), AllOf(HasSubstr("▴"), HasSubstr("400")));
  put("a", AxisLimit::whole);
  EXPECT_GT(top(), 400);
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

TEST_F(PlotAxisLimit, marks_every_excluded_value_at_the_edge) {
  add(spiked(1000));
  plot_.refresh();
  const auto& beyond = drawn().beyond;
  ASSERT_EQ(beyond.size(), 5u);
  for (std::size_t i = 0; i < beyond.size(); ++i) {
    EXPECT_NEAR(beyond[i].x(),
                plot_.shown().at(120 + 200.0 * static_cast<double>(i), 3, Side::left).x(), 1e-6);
    EXPECT_EQ(beyond[i].y(), plot_.shown().area.top());
  }
  const QImage image = plot_.grab().toImage();
  const QPoint at =
      plot_.canvas().mapTo(&plot_, plot_.canvas().mapFromScene(beyond[2])) + QPoint(0, 4);
  bool marked = false;
  for (int dx = -6; dx <= 6; ++dx)
    marked = marked || image.pixelColor(at + QPoint(dx, 0)) == drawn().pen.color();
  EXPECT_TRUE(marked) << "the mark is not visible";
}

TEST_F(PlotAxisLimit, reading_of_an_excluded_value_is_exact) {
  CrosshairGroup group;
  plot_.set_crosshair_group(&group);
  add(spiked(1000));
  plot_.refresh();
  group.set_x(320);
  ASSERT_EQ(plot_.overlay().rows.size(), 1u);
  EXPECT_EQ(plot_.overlay().rows[0].text, "a: 400");
}

TEST_F(PlotAxisLimit, includes_lines_that_request_their_full_range) {
  add(spiked(1000));
  put("bound", AxisLimit::whole, Joining::always);
  plot_.append("bound", points_of({15, 15}));
  EXPECT_GT(top(), 15);
  EXPECT_LT(top(), 30);
}

TEST_F(PlotAxisLimit, summary_line_does_not_extend_the_axis_beyond_its_lines) {
  add(spiked(1000));
  put("most", AxisLimit::rest, Joining::always);
  plot_.append("most", points_of(std::vector<double>(500, 400)));
  EXPECT_LT(top(), 6);
  ASSERT_EQ(drawn(1).beyond.size(), 500u);
  plot_.set_series_visible("a", false);
  EXPECT_GT(top(), 400) << "a single line has its full range";
}

TEST_F(PlotAxisLimit, excludes_nothing_if_values_are_close) {
  std::vector<double> values(1000, 5);
  values[10] = 8;
  add(values);
  EXPECT_GT(top(), 8);
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

TEST_F(PlotAxisLimit, includes_frequent_values) {
  std::vector<double> values(1000, 3);
  for (std::size_t i = 0; i < values.size(); i += 50) values[i] = 400;
  add(values);
  EXPECT_GT(top(), 400);
}

TEST_F(PlotAxisLimit, menu_extends_the_axis_to_all_values) {
  add(spiked(1000));
  EXPECT_LT(top(), 6);
  const auto actions = plot_.menu().actions();
  const auto action = std::ranges::find_if(actions, [](const QAction* one) {
    return one->text() == "Extend axis to the largest value";
  });
  ASSERT_NE(action, actions.end());
  emit plot_.menu().aboutToShow();
  EXPECT_TRUE((*action)->isVisible());
  (*action)->trigger();
  EXPECT_GT(top(), 400);
  EXPECT_TRUE(plot_.whole());
  put("a", AxisLimit::whole);
  emit plot_.menu().aboutToShow();
  EXPECT_FALSE((*action)->isVisible()) << "the value is on the axis anyway";
}

TEST_F(PlotAxisLimit, logarithmic_axis_includes_all_values) {
  add(spiked(1000));
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_GE(plot_.shown().y[0].high, std::log10(400));
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

TEST_F(PlotAxisLimit, zoomed_axis_has_no_marks) {
  add(spiked(1000));
  plot_.refresh();
  plot_.zoom_at({0.5, 0.5}, 0.5, true);
  plot_.refresh();
  EXPECT_TRUE(drawn().beyond.empty());
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

}  // namespace
}  // namespace trainyard::ui
