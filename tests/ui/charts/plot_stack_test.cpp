// SPDX-License-Identifier: GPL-3.0-or-later
// Stacked parts.
#include "tests/ui/charts/plot_view_fixture.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;

class StackTest : public PlotViewTest {
 protected:
  StackTest() {
    plot_.clear_series();
    for (const char* id : {"low", "middle", "high"})
      plot_.put_series(id, {.label = id, .stacked = true});
  }
  void add_to(const char* id, const std::vector<double>& values, double first_step = 0) {
    plot_.append(id, points_of(values, first_step));
  }
  double top(const char* id, std::size_t point) {
    return plot_.model().find(id)->tops.value(point);
  }
};

TEST_F(StackTest, top_line_is_the_sum_of_the_parts) {
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
  EXPECT_NEAR(drawn(0).lines.back().y2(), plot_.shown().at(2, 113, Side::left).y(), 1e-9)
      << "painted first; lower parts cover its base";
}

TEST_F(StackTest, part_waits_for_parts_below_and_missing_values_are_gaps) {
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

TEST_F(StackTest, sum_excludes_a_hidden_part) {
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
  EXPECT_EQ(rows, QStringList({"low: 2", "middle: 20", "high: 200", "total: 222"}))
      << rows.join(" | ").toStdString();
  ASSERT_EQ(plot_.overlay().points.size(), 3u);
  EXPECT_NEAR(plot_.overlay().points[2].first.y(), plot_.shown().at(1, 222, Side::left).y(), 1e-9);
}

TEST_F(StackTest, log_scale_shows_separate_lines_and_a_badge) {
  add_to("low", {1, 1});
  add_to("middle", {100, 100});
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_THAT(all_badges(), HasSubstr("not stacked"));
  EXPECT_TRUE(drawn(0).areas.empty());
  EXPECT_EQ(plot_.shown().y[0].high, 2);
}

class BarsTest : public PlotViewTest {
 protected:
  BarsTest() {
    plot_.clear_series();
    plot_.set_count_axis("versions");
    for (const char* id : {"low", "high"})
      plot_.put_series(
          id,
          {.label = id, .color = id[0] == 'l' ? 0 : 1, .stacked = true, .joining = Joining::never});
  }
  QRectF bar(std::size_t series, std::size_t at) {
    return drawn(series).areas.at(static_cast<qsizetype>(at)).boundingRect();
  }
  QPointF at(double step, double value) { return plot_.shown().at(step, value, Side::left); }
};

TEST_F(BarsTest, are_centered_at_their_count_and_begin_at_zero) {
  plot_.append("low", points_of({3, 0, 2}));
  plot_.refresh();
  const DrawnSeries& low = drawn(1);
  EXPECT_TRUE(low.dots.empty());
  EXPECT_TRUE(low.lines.empty());
  ASSERT_EQ(low.areas.size(), 2u) << "no bar for a count of zero";
  EXPECT_EQ(low.fill, Theme::instance().series_color(0));
  EXPECT_NEAR(bar(1, 0).left(), at(-kHalfBar, 0).x(), 1e-9)
      << "the bar beside the axis is complete";
  EXPECT_NEAR(bar(1, 0).right(), at(kHalfBar, 0).x(), 1e-9);
  EXPECT_NEAR(bar(1, 0).top(), at(0, 3).y(), 1e-9);
  EXPECT_NEAR(bar(1, 0).bottom(), at(0, 0).y(), 1e-9);
  EXPECT_NEAR(bar(1, 1).center().x(), at(2, 0).x(), 1e-9);
  EXPECT_LE(bar(1, 1).right(), plot_.shown().area.right());
}

TEST_F(BarsTest, are_stacked_for_several_lines) {
  plot_.append("low", points_of({3, 1}));
  plot_.append("high", points_of({1, 2, 5}));
  plot_.refresh();
  const PointSeries& tops = plot_.model().find("high")->tops;
  ASSERT_EQ(tops.size(), 3u) << "no bar below is needed";
  EXPECT_EQ(tops.value(0), 4);
  EXPECT_EQ(tops.value(2), 5);
  EXPECT_EQ(plot_.model().stack_sum(0), std::pair(4.0, 2));
  EXPECT_EQ(plot_.model().stack_sum(2), std::pair(5.0, 1));
  EXPECT_NEAR(bar(0, 0).top(), at(0, 4).y(), 1e-9)
      << "painted first; the lower bar covers its base";
  plot_.set_series_visible("low", false);
  plot_.refresh();
  EXPECT_EQ(plot_.model().find("high")->tops.value(0), 1);
  plot_.set_series_visible("low", true);
  plot_.append("low", points_of({7}, 2));
  plot_.refresh();
  EXPECT_EQ(plot_.model().find("high")->tops.value(2), 12)
      << "upper bars move when a lower one grows";
}

TEST_F(BarsTest, are_points_on_a_log_scale) {
  plot_.append("low", points_of({3, 10}));
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_TRUE(drawn(1).areas.empty());
  EXPECT_EQ(drawn(1).dots.size(), 2u);
}

TEST_F(BarsTest, count_of_one_is_visible_beside_many) {
  plot_.append("low", points_of({1e6, 1}));
  plot_.refresh();
  EXPECT_GE(bar(1, 1).height(), 1);
}

}  // namespace
}  // namespace trainyard::ui
