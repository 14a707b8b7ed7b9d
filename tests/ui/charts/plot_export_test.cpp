// SPDX-License-Identifier: GPL-3.0-or-later
// Export of a chart.
#include "ui/charts/plot_export.h"

#include <QImage>
#include <QPainter>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>

#include "core/base/file.h"
#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;

TEST_F(PlotViewTest, exports_every_point_as_csv_in_any_view) {
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) values.push_back(std::sin(i) / 3);
  values[5] = kNaN;
  add(values);
  plot_.set_series_visible("a", false);
  plot_.zoom_at({0.5, 0.5}, 0.1, false);
  const std::string csv = csv_of(plot_.model());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 20'001);
  char last[80];
  std::snprintf(last, sizeof last, "\"a\",19999,%.17g,0,%.17g,,%.17g\n", 19999.0 * 128,
                19999 * 0.01, values.back());
  EXPECT_TRUE(csv.ends_with(last));
  EXPECT_THAT(csv, HasSubstr(",nan\n"));
}

TEST_F(PlotViewTest, exports_the_count_of_an_axis_that_counts) {
  plot_.set_count_axis("ranks");
  add({1, 1.9, 2.7}, 1);
  QTemporaryDir directory;
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.csv")));
  EXPECT_EQ(
      *base::read_file(directory.filePath("a.csv").toStdString(), 1 << 20),
      "series,ranks,value\n\"a\",1,1\n\"a\",2,1.8999999999999999\n\"a\",3,2.7000000000000002\n");
}

TEST_F(PlotViewTest, writes_pictures_and_refuses_other_suffixes) {
  add({1, 3, 2});
  plot_.set_title("Loss");
  QTemporaryDir directory;
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.png")));
  EXPECT_EQ(QImage(directory.filePath("a.png")).width(), 2 * plot_.width());
  EXPECT_GT(plot_.canvas().plot_area().left(), QFontMetricsF(plot_.font()).horizontalAdvance("3.0"))
      << "room for labels, before any event";
  ASSERT_TRUE(save_plot(plot_, directory.filePath("a.svg")));
  EXPECT_THAT(*base::read_file(directory.filePath("a.svg").toStdString(), 1 << 22),
              HasSubstr("<svg"));
  EXPECT_FALSE(save_plot(plot_, directory.filePath("a.bmp")));
}

// Returns the rows of an image that contain a color.
std::pair<int, int> rows_of(const QImage& picture, const QColor& color) {
  std::pair<int, int> rows{picture.height(), -1};
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x)
      if (picture.pixelColor(x, y).rgb() == color.rgb()) rows = {std::min(rows.first, y), y};
  return rows;
}

QImage picture_of_svg(const QString& file, QSize size) {
  QImage image(size, QImage::Format_RGB32);
  image.fill(Qt::white);
  QPainter painter(&image);
  QSvgRenderer(file).render(&painter);
  painter.end();
  return image;
}

// Qt does not clip SVG, so lines beyond the axes must not be written.
TEST_F(PlotViewTest, svg_of_a_zoomed_area_is_clipped_like_the_image) {
  plot_.clear_series();
  plot_.put_series("a", {.label = "", .stacked = true});
  add(std::vector<double>(20, 100.0));
  plot_.refresh();
  plot_.zoom_to(QRectF(0.2, 0.2, 0.5, 0.3));
  plot_.refresh();
  QTemporaryDir directory;
  for (const char* name : {"a.png", "a.svg"})
    ASSERT_TRUE(save_plot(plot_, directory.filePath(name)));
  const QImage png = QImage(directory.filePath("a.png")).scaled(plot_.size()),
               svg = picture_of_svg(directory.filePath("a.svg"), plot_.size());
  const auto [top, bottom] = rows_of(png, drawn().fill);
  ASSERT_LT(top, bottom) << "the area is visible";
  const auto [svg_top, svg_bottom] = rows_of(svg, drawn().fill);
  EXPECT_NEAR(svg_top, top, 2);
  EXPECT_NEAR(svg_bottom, bottom, 2);
}

}  // namespace
}  // namespace trainyard::ui
