// SPDX-License-Identifier: GPL-3.0-or-later
// Values that a chart cannot draw.
#include <cmath>

#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;

TEST_F(PlotViewTest, log_scale_counts_zero_negative_nan_and_infinite_values) {
  add({1, 10, 0, -3, kNaN, std::numeric_limits<double>::infinity(), 100, 1000});
  plot_.set_log(true);
  plot_.refresh();
  EXPECT_EQ(drawn().lines.size(), 2u);  // 1-10 and 100-1000
  EXPECT_EQ(plot_.shown().y[0].low, 0);
  EXPECT_EQ(plot_.shown().y[0].high, 3);
  EXPECT_THAT(all_badges(), HasSubstr("2 values ≤ 0"));
  EXPECT_THAT(all_badges(), HasSubstr("2 nan or inf"));
}

TEST_F(PlotViewTest, log_scale_marks_missing_values_at_its_bottom) {
  add({1, 10, 0, -3, kNaN, 100});
  plot_.refresh();
  ASSERT_EQ(drawn().gaps.size(), 1u) << "a linear scale shows all but NaN";
  plot_.set_log(true);
  plot_.refresh();
  ASSERT_EQ(drawn().gaps.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(drawn().gaps[i], plot_.shown().at(2.0 + static_cast<double>(i), 1, Side::left).x(),
                1e-9);
  const QRectF area = plot_.canvas().plot_area();
  const QImage picture = plot_.canvas().grab().toImage();
  const QPoint mark = (QPointF(std::floor(drawn().gaps[0] / 4) * 4, std::round(area.bottom()) - 4) *
                       picture.devicePixelRatio())
                          .toPoint();
  EXPECT_EQ(picture.pixelColor(mark).rgb(), drawn().pen.color().rgb());
}

TEST_F(PlotViewTest, consecutive_missing_values_are_a_row_of_marks) {
  add({1, 1, 1});
  add(std::vector<double>(2000, kNaN), 3);
  plot_.refresh();
  const double foot = std::round(plot_.canvas().plot_area().bottom());
  const QImage picture = plot_.canvas().grab().toImage();
  int marked = 0, high = 0, looked_at = 0;
  const auto is_mark = [&](double x, double up) {
    return picture.pixelColor((QPointF(x, foot - up) * picture.devicePixelRatio()).toPoint())
               .rgb() == drawn().pen.color().rgb();
  };
  for (double x = std::ceil(drawn().gaps[10]); x < drawn().gaps.back() - 10; ++x, ++looked_at)
    marked += is_mark(x, 3), high += is_mark(x, 8);
  ASSERT_GT(looked_at, 300);
  EXPECT_NEAR(marked, looked_at / 2, 4);
  EXPECT_EQ(high, 0);
}

TEST_F(PlotViewTest, marks_of_a_million_missing_values_are_at_most_one_per_pixel) {
  plot_.set_log(true);
  add(std::vector<double>(1'000'000, 0.0));
  plot_.refresh();
  EXPECT_LE(drawn().gaps.size(), 640u);
  EXPECT_GT(drawn().gaps.size(), 300u);
}

}  // namespace
}  // namespace trainyard::ui
