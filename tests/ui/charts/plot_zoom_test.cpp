// SPDX-License-Identifier: GPL-3.0-or-later
// Views of a part of a chart, by mouse, wheel and keys.
#include <QApplication>
#include <QTest>
#include <QWheelEvent>

#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

TEST_F(PlotViewTest, rubber_band_zooms_and_double_click_or_home_resets) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  const Span home = plot_.shown().x;
  const QRectF area = plot_.canvas().plot_area();
  QWidget* port = plot_.canvas().viewport();
  QTest::mousePress(port, Qt::LeftButton, {},
                    (area.topLeft() + QPointF(area.width() * 0.25, 10)).toPoint());
  QTest::mouseMove(port, (area.topLeft() + QPointF(area.width() * 0.5, 100)).toPoint());
  QTest::mouseRelease(port, Qt::LeftButton, {},
                      (area.topLeft() + QPointF(area.width() * 0.5, 100)).toPoint());
  plot_.refresh();
  EXPECT_NEAR(plot_.shown().x.low, home.low + 0.25 * home.width(), 0.5);
  EXPECT_NEAR(plot_.shown().x.high, home.low + 0.5 * home.width(), 0.5);
  QTest::keyClick(&plot_.canvas(), Qt::Key_Home);
  plot_.refresh();
  EXPECT_EQ(plot_.shown().x.high, home.high);
}

void turn_wheel(PlotView& plot, int by, Qt::KeyboardModifiers keys) {
  const QPointF at = plot.canvas().plot_area().center();
  QWheelEvent wheel(at, plot.canvas().viewport()->mapToGlobal(at), {}, {0, by}, Qt::NoButton, keys,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(plot.canvas().viewport(), &wheel);
  plot.refresh();
}

TEST_F(PlotViewTest, wheel_zooms_only_with_ctrl_and_within_the_home_view) {
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

TEST_F(PlotViewTest, panning_stops_at_the_ends_of_the_home_view) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  const PlotMap home = plot_.shown();
  for (int i = 0; i < 30; ++i) QTest::keyClick(&plot_.canvas(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_EQ(plot_.shown().x, home.x) << "the full range is visible";
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

TEST_F(PlotViewTest, follows_a_run_after_zooming_out) {
  add(std::vector<double>(100, 1.0));
  plot_.refresh();
  turn_wheel(plot_, 480, Qt::ControlModifier);
  for (int i = 0; i < 5; ++i) turn_wheel(plot_, -480, Qt::ControlModifier);
  add(std::vector<double>(100, 1.0), 100);
  plot_.refresh();
  EXPECT_GE(plot_.shown().x.high, 199);
}

}  // namespace
}  // namespace trainyard::ui
