// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_painter.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFontMetricsF>
#include <QImage>
#include <QPainter>

#include "ui/charts/plot_lines.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

TEST(PlotPainter, reading_stays_within_the_plot_and_keeps_its_numbers) {
  const QFont font = QApplication::font();
  const QRectF area(40, 20, 220, 200);
  PlotOverlay::Content content;
  content.heading = "step 12";
  content.rows = {{SeriesStyle{}, "a run with a long name, at night 10:00:00 · held out: 0.12345"},
                  {SeriesStyle{}, "b: 7"}};
  for (const double x : {41.0, 150.0, 259.0}) {
    content.x = x;
    const ReadingLayout reading = lay_out_reading(content, area, font);
    EXPECT_TRUE(area.contains(reading.box)) << x;
    EXPECT_LT(QFontMetricsF(font).horizontalAdvance(reading.rows[0]), reading.box.width());
    EXPECT_TRUE(reading.rows[0].startsWith("…") && reading.rows[0].endsWith("held out: 0.12345"))
        << reading.rows[0].toStdString();
    EXPECT_EQ(reading.rows[1], "b: 7");
  }
}

TEST(PlotPainter, background_lines_are_paler_and_visible_in_both_themes) {
  for (const auto kind : {Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    const QColor card = Theme::instance().colors().card;
    for (int color = 0; color < 8; ++color) {
      const QColor pale =
          series_pen({.label = {}, .color = color, .dashed = true, .pale = true}, 1.5).color();
      EXPECT_GE(contrast(mixed(card, pale, pale.alphaF()), card), 2.95)
          << color;  // to the next of 255 shades
      EXPECT_LT(pale.alpha(), 255) << color;
      EXPECT_LT(series_pen({.label = {}, .color = color}, 1.5, true).color().alpha(),
                pale.alpha() + 1)
          << "behind its own smoothed line";
    }
  }
}

// Compares shapes without colors, as seen by color-blind users and in gray prints.
TEST(PlotPainter, markers_differ_without_color) {
  for (const bool hollow : {false, true}) {
    std::vector<QImage> pictures;
    for (int marker = 0; marker < kMarkers; ++marker) {
      QImage& picture = pictures.emplace_back(24, 24, QImage::Format_ARGB32_Premultiplied);
      picture.fill(Qt::transparent);
      QPainter painter(&picture);
      paint_sample(painter,
                   {.label = {},
                    .joining = Joining::never,
                    .marker = static_cast<Marker>(marker),
                    .hollow = hollow},
                   picture.rect());
    }
    for (std::size_t a = 0; a < pictures.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        int other = 0;
        for (int y = 0; y < 24; ++y)
          for (int x = 0; x < 24; ++x)
            other += std::abs(pictures[a].pixelColor(x, y).alpha() -
                              pictures[b].pixelColor(x, y).alpha()) > 128;
        EXPECT_GT(other, 15) << a << " and " << b << " differ in so few pixels";
      }
  }
}

TEST(PlotPainter, legend_sample_matches_the_line) {
  const auto columns = [](const SeriesStyle& style) {  // that are painted
    QImage picture(40, 20, QImage::Format_ARGB32_Premultiplied);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    paint_sample(painter, style, picture.rect());
    painter.end();
    int painted = 0;
    for (int x = 0; x < picture.width(); ++x)
      painted += picture.pixelColor(x, 10).alpha() > 0 || picture.pixelColor(x, 9).alpha() > 0;
    return painted;
  };
  EXPECT_EQ(columns({}), 40);
  EXPECT_LT(columns({.label = {}, .dashed = true}), 30) << "there are gaps";
  EXPECT_LT(columns({.label = {}, .joining = Joining::never}), 15) << "a mark";
}

TEST(PlotPainter, clips_lines_to_the_area) {
  const QRectF area(0, 0, 10, 10);
  EXPECT_FALSE(clipped({{-5, 20}, {15, 30}}, area));
  EXPECT_EQ(*clipped({{-5, 5}, {15, 5}}, area), QLineF(0, 5, 10, 5));
  EXPECT_EQ(*clipped({{1, 1}, {2, 2}}, area), QLineF(1, 1, 2, 2));
}

}  // namespace
}  // namespace trainyard::ui
