// SPDX-License-Identifier: GPL-3.0-or-later
// Incremental drawing of a live line: it must match a complete drawing and only draw the new end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QGraphicsScene>
#include <QPainter>
#include <QScreen>
#include <QTest>
#include <cmath>
#include <random>

#include "tests/ui/charts/not_a_number.h"
#include "ui/charts/plot_view.h"

namespace trainyard::ui {
namespace {

// Noise with gaps between steps and occasional values that are not finite.
std::vector<SeriesPoint> ragged(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  std::vector<SeriesPoint> points;
  for (int step = 0; static_cast<int>(points.size()) < count; ++step) {
    if (random() % 50 == 0) ++step;
    const double value = random() % 40 == 0 ? kNaN : std::exp(-step / 1000.0) + 0.3 * noise(random);
    points.push_back({1.0 * step, 32.0 * step, 0.01 * step, value});
  }
  return points;
}

PlotMap map_of(double steps) {
  return {{40, 20, 300, 200}, XAxis::step, {0, steps}, {{-1, 2}, {-1, 2}}, false};
}

void expect_same(const DrawnSeries& a, const DrawnSeries& b) {
  EXPECT_EQ(a.lines, b.lines);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.dots, b.dots);
  EXPECT_EQ(a.areas, b.areas);
}

struct Growth {
  int points, at_once;
  bool filled;
};

class GrowingLine : public testing::TestWithParam<Growth> {};

TEST_P(GrowingLine, matches_the_line_drawn_from_all_points) {
  const Growth& growth = GetParam();
  const auto all = ragged(growth.points, 7);
  const PlotMap map = map_of(growth.points * 1.05);
  DrawnSeries look;
  look.pen = QPen(Qt::red, 2);
  if (growth.filled) look.fill = Qt::blue;
  PointSeries series;
  LineDrawing growing;
  for (std::size_t i = 0; i < all.size(); ++i) {
    series.append(all[i]);
    if (i % static_cast<std::size_t>(growth.at_once) != 0) continue;
    const DrawnSeries drawn = growing.draw(series, 1, map, Side::left, 300, look);
    LineDrawing fresh;
    expect_same(drawn, fresh.draw(series, 1, map, Side::left, 300, look));
    ASSERT_FALSE(testing::Test::HasFailure()) << "after " << i + 1 << " points";
  }
}

INSTANTIATE_TEST_SUITE_P(all, GrowingLine,
                         testing::Values(Growth{500, 1, false}, Growth{500, 1, true},
                                         Growth{3000, 7, false}, Growth{20'000, 997, true}));

TEST(LineDrawing, restarts_when_points_are_replaced) {
  PointSeries series;
  for (const SeriesPoint& point : ragged(5000, 1)) series.append(point);
  LineDrawing drawing, fresh;
  drawing.draw(series, 1, map_of(5000), Side::left, 300, {});
  series = PointSeries();
  for (const SeriesPoint& point : ragged(5000, 2)) series.append(point);
  expect_same(drawing.draw(series, 2, map_of(5000), Side::left, 300, {}),
              fresh.draw(series, 2, map_of(5000), Side::left, 300, {}));
}

TEST(Thinner, keeps_all_but_the_last_bucket_of_a_growing_line) {
  PointSeries series;
  for (const SeriesPoint& point : ragged(50'000, 3)) series.append(point);
  Thinner thinner;
  const std::size_t points =
      thinner.update(series, XAxis::step, {0, 60'000}, 300, false).points.size();
  EXPECT_EQ(thinner.kept(), 0u);
  series.append({60'000, 0, 0, 1});
  thinner.update(series, XAxis::step, {0, 60'000}, 300, false);
  EXPECT_GE(thinner.kept(), points - 3);
  thinner.update(series, XAxis::step, {0, 60'000}, 301, false);
  EXPECT_EQ(thinner.kept(), 0u) << "asked otherwise";
}

class LivePlot : public testing::Test {
 protected:
  void make(PlotView& plot, bool stacked = false) {
    plot.resize(640, 400);
    plot.show();
    for (int i = 0; i < 3; ++i)
      plot.put_series(QString::number(i),
                      {.label = QString::number(i), .color = i, .stacked = stacked});
  }
  // Points of all series from `begin` on.
  void add(PlotView& plot, std::size_t begin, std::size_t end) {
    for (int i = 0; i < 3; ++i)
      plot.append(QString::number(i),
                  std::span(points_[static_cast<std::size_t>(i)]).subspan(begin, end - begin));
    plot.refresh();
  }
  // Grabs the plot as painted on the screen, in as many pieces as it was.
  static QImage lines_of(PlotView& plot) {
    for (int round = 0; round < 3;
         ++round) {  // labels of axes move the area, and it is drawn once more
      QCoreApplication::processEvents();
      plot.refresh();
    }
    QCoreApplication::processEvents();
    const QRect area = plot.canvas().plot_area().toAlignedRect().translated(plot.canvas().pos());
    const QImage whole = plot.screen()->grabWindow(plot.winId()).toImage();
    EXPECT_FALSE(whole.isNull());
    return whole.copy(area);
  }
  const std::vector<std::vector<SeriesPoint>> points_{ragged(6000, 1), ragged(6000, 2),
                                                      ragged(6000, 3)};
};

// A plot painted incrementally, frame by frame, equals one painted completely.
TEST_F(LivePlot, matches_a_plot_drawn_from_all_points) {
  for (const bool stacked : {false, true}) {
    PlotView live;
    make(live, stacked);
    std::size_t shown = 0;
    for (const std::size_t next :
         {1u, 5u, 60u, 61u, 300u, 1500u, 1501u, 1502u, 5200u, 5201u, 5208u, 5216u}) {
      add(live, std::exchange(shown, next), next);
      const QImage pieces = lines_of(live);
      PlotView fresh;
      make(fresh, stacked);
      add(fresh, 0, next);
      ASSERT_EQ(pieces, lines_of(fresh)) << next << (stacked ? " stacked" : "");
    }
  }
}

// Dense lines are columns with a filled area below; both follow the axes.
TEST(PlotLines, columns_and_fills_are_aligned_with_the_axes) {
  DrawnSeries dense;
  dense.pen = QPen(Qt::red, 2);
  dense.fill = Qt::green;
  dense.zero = 90;
  for (int x = 20; x < 60; ++x) dense.columns.emplace_back(x, 40, 1, 10);
  QGraphicsScene scene(0, 0, 400, 200);
  auto* lines = new PlotLines(nullptr);
  scene.addItem(lines);
  lines->show({0, 0, 100, 100}, {dense});
  for (const auto& [area, scale] :
       {std::pair(QRectF(0, 0, 100, 100), 1), std::pair(QRectF(0, 0, 200, 200), 2)}) {
    lines->move_to(area);
    QImage image(400, 200, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    scene.render(&painter, QRectF(), scene.sceneRect());
    painter.end();
    const auto at = [&](int x, int y) { return image.pixelColor(x * scale, y * scale); };
    for (int x = 21; x < 59; ++x) {
      EXPECT_EQ(at(x, 38), QColor(Qt::white)) << x;
      EXPECT_EQ(at(x, 45), QColor(Qt::red)) << x;
      EXPECT_EQ(at(x, 70), QColor(Qt::green)) << x;
      EXPECT_EQ(at(x, 93), QColor(Qt::white)) << x;
    }
    EXPECT_EQ(at(10, 70), QColor(Qt::white));
    EXPECT_EQ(at(70, 70), QColor(Qt::white));
  }
}

// A line above the view has a visible area.
TEST(LineDrawing, fills_the_area_below_a_line_outside_the_view) {
  PointSeries series;
  for (int step = 0; step < 20'000; ++step) series.append({1.0 * step, 0, 0, 5});
  DrawnSeries look;
  look.fill = Qt::green;
  LineDrawing drawing;
  const DrawnSeries drawn = drawing.draw(series, 1, map_of(20'000), Side::left, 300, look);
  EXPECT_TRUE(drawn.columns.empty());
  ASSERT_EQ(drawn.areas.size(), 1u);
  EXPECT_TRUE(drawn.areas[0].containsPoint(QPointF(190, 100), Qt::OddEvenFill));
}

TEST_F(LivePlot, repaints_only_changed_areas) {
  std::vector<DrawnSeries> before(1), after;
  before[0].pen = QPen(Qt::red, 2);
  for (int x = 0; x < 200; ++x) before[0].columns.emplace_back(x, 50, 1, 20);
  const QRectF area(0, 0, 300, 100);
  after = before;
  EXPECT_TRUE(difference(before, after, area).isEmpty());
  after[0].columns.back() = QRect(199, 40, 1, 30);
  after[0].columns.emplace_back(200, 50, 1, 20);
  const QRectF stale = difference(before, after, area);
  EXPECT_GT(stale.left(), 185);
  EXPECT_LE(stale.left(), 199);
  EXPECT_GE(stale.right(), 201);
  EXPECT_LT(stale.right(), 215);
  after[0].pen = QPen(Qt::blue, 2);
  EXPECT_EQ(difference(before, after, area), area);
}

}  // namespace
}  // namespace trainyard::ui
