// SPDX-License-Identifier: GPL-3.0-or-later
// The crosshair and its readings.
#include <QTest>

#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

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

TEST_F(PlotViewTest, group_shares_its_crosshair_and_reads_only_existing_points) {
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

TEST_F(PlotViewTest, reading_of_many_lines_stays_within_the_plot) {
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

TEST_F(PlotViewTest, reading_shows_each_line_with_its_style) {
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
