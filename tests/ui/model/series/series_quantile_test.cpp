// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series/series_quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trainyard::ui {
namespace {

PointSeries series_of(std::size_t size, const auto& value) {
  PointSeries series;
  for (std::size_t i = 0; i < size; ++i) {
    SeriesPoint point;
    point.step = static_cast<double>(i), point.value = value(i);
    series.append(point);
  }
  return series;
}

TEST(SeriesQuantile, is_not_exceeded_by_that_fraction_of_values) {
  const PointSeries low = series_of(60, [](std::size_t i) { return static_cast<double>(i + 1); });
  const PointSeries high = series_of(40, [](std::size_t i) { return static_cast<double>(i + 61); });
  const std::vector<SeriesPart> all{{&low, 0, 60}, {&high, 0, 40}};
  EXPECT_EQ(quantile(all, 0.99), 99);
  EXPECT_EQ(quantile(all, 0.5), 50);
  EXPECT_EQ(quantile(all, 1), 100);
  EXPECT_EQ(quantile(all, 0), 1);
  EXPECT_EQ(quantile({{&low, 10, 20}}, 1), 20);
}

TEST(SeriesQuantile, is_missing_for_an_empty_series) {
  EXPECT_FALSE(quantile({}, 0.99));
  const PointSeries none =
      series_of(3, [](std::size_t) { return std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_FALSE(quantile({{&none, 0, 3}}, 0.99)) << "values that are not finite";
  EXPECT_FALSE(quantile({{&none, 2, 2}}, 0.99));
}

// One value in 128 is less than 1 %, and one in 64 is more, at any position.
TEST(SeriesQuantile, counts_periodic_values_of_long_series_correctly) {
  constexpr std::size_t kLong = 300'000;
  for (const std::size_t every : {64, 128})
    for (std::size_t first = 0; first < every; first += 37) {
      const PointSeries series =
          series_of(kLong, [&](std::size_t i) { return i % every == first ? 400.0 : 3.0; });
      EXPECT_EQ(quantile({{&series, 0, kLong}}, 0.99), every == 64 ? 400 : 3)
          << every << " " << first;
    }
}

}  // namespace
}  // namespace trainyard::ui
