// SPDX-License-Identifier: GPL-3.0-or-later
// An axis that is made for nearly all values of its lines, and what lies beyond.
#include <QAction>
#include <QMenu>
#include <algorithm>

#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;
using testing::Not;

// 3 or 4, and at each 200th point 400.
std::vector<double> spiked(std::size_t points) {
  std::vector<double> values(points);
  for (std::size_t i = 0; i < points; ++i)
    values[i] = i % 200 == 120 ? 400 : static_cast<double>(3 + i % 2);
  return values;
}

class PlotReach : public PlotViewTest {
 protected:
  PlotReach() { put("a", AxisLimit::percentile); }
  void put(const QString& id, AxisLimit reach, Joining joining = Joining::never) {
    plot_.put_series(id, {.label = id, .joining = joining, .reach = reach});
  }
  double top() {
    plot_.refresh();
    return plot_.shown().y[0].high;
  }
};

TEST_F(PlotReach, an_axis_leaves_out_the_few_values_that_would_take_most_of_it) {
  add(spiked(1000));
  EXPECT_LT(top(), 6);
  EXPECT_THAT(all_badges(), HasSubstr("▴ up to 400"));
  put("a", AxisLimit::whole);
  EXPECT_GT(top(), 400);
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

TEST_F(PlotReach, every_value_beyond_is_marked_at_the_edge_where_it_is) {
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
  EXPECT_TRUE(marked) << "and it is seen";
}

TEST_F(PlotReach, what_is_read_there_is_the_value) {
  CrosshairGroup group;
  plot_.set_crosshair_group(&group);
  add(spiked(1000));
  plot_.refresh();
  group.set_x(320);
  ASSERT_EQ(plot_.overlay().rows.size(), 1u);
  EXPECT_EQ(plot_.overlay().rows[0].text, "a: 400");
}

TEST_F(PlotReach, lines_that_say_so_are_on_the_axis_whole) {
  add(spiked(1000));
  put("bound", AxisLimit::whole, Joining::always);
  plot_.append("bound", points_of({15, 15}));
  EXPECT_GT(top(), 15);
  EXPECT_LT(top(), 30);
}

TEST_F(PlotReach, a_summary_takes_no_more_than_what_it_sums_up_while_that_is_shown) {
  add(spiked(1000));
  put("most", AxisLimit::rest, Joining::always);
  plot_.append("most", points_of(std::vector<double>(500, 400)));
  EXPECT_LT(top(), 6);
  ASSERT_EQ(drawn(1).beyond.size(), 500u);
  plot_.set_series_visible("a", false);
  EXPECT_GT(top(), 400) << "alone it is whole";
}

TEST_F(PlotReach, where_all_values_are_near_each_other_none_is_beyond) {
  std::vector<double> values(1000, 5);
  values[10] = 8;
  add(values);
  EXPECT_GT(top(), 8);
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

TEST_F(PlotReach, what_is_not_rare_is_on_the_axis) {
  std::vector<double> values(1000, 3);
  for (std::size_t i = 0; i < values.size(); i += 50) values[i] = 400;
  add(values);
  EXPECT_GT(top(), 400);
}

TEST_F(PlotReach, the_menu_has_the_axis_go_on_to_the_last) {
  add(spiked(1000));
  EXPECT_LT(top(), 6);
  const auto actions = plot_.menu().actions();
  const auto action = std::ranges::find_if(
      actions, [](const QAction* one) { return one->text() == "Extend axis to the maximum"; });
  ASSERT_NE(action, actions.end());
  emit plot_.menu().aboutToShow();
  EXPECT_TRUE((*action)->isVisible());
  (*action)->trigger();
  EXPECT_GT(top(), 400);
  EXPECT_TRUE(plot_.whole());
  put("a", AxisLimit::whole);
  emit plot_.menu().aboutToShow();
  EXPECT_FALSE((*action)->isVisible()) << "it is there anyway";
}

TEST_F(PlotReach, on_a_logarithmic_axis_all_have_room) {
  add(spiked(1000));
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_GE(plot_.shown().y[0].high, std::log10(400));
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

TEST_F(PlotReach, a_zoomed_axis_marks_nothing) {
  add(spiked(1000));
  plot_.refresh();
  plot_.zoom_at({0.5, 0.5}, 0.5, true);
  plot_.refresh();
  EXPECT_TRUE(drawn().beyond.empty());
  EXPECT_THAT(all_badges(), Not(HasSubstr("▴")));
}

}  // namespace
}  // namespace trainyard::ui
