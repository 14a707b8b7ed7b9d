// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series/series.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "tests/ui/charts/not_a_number.h"
#include "ui/model/series/series_derived.h"
#include "ui/model/series/series_thinning.h"

namespace trainyard::ui {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

PointSeries series_of(const std::vector<double>& values, Joining joining = Joining::next_step) {
  PointSeries series(joining);
  for (std::size_t i = 0; i < values.size(); ++i)
    series.append({static_cast<double>(i), 0, 0, values[i]});
  return series;
}

RC_GTEST_PROP(Series, extremes_of_any_range_match_its_values, (const std::vector<int>& numbers)) {
  std::vector<double> values;
  for (const int number : numbers) values.push_back(number % 17 == 0 ? kNaN : number);
  const PointSeries series = series_of(values);
  const std::size_t begin = *rc::gen::inRange<std::size_t>(0, values.size() + 1),
                    end = *rc::gen::inRange<std::size_t>(begin, values.size() + 1);
  const Extremes found = series.drawable(false).extremes(begin, end);
  double least = kInf, greatest = -kInf;
  for (std::size_t i = begin; i < end; ++i)
    if (std::isfinite(values[i]))
      least = std::min(least, values[i]), greatest = std::max(greatest, values[i]);
  RC_ASSERT(found.any == std::isfinite(least));
  if (found.any) RC_ASSERT(values[found.least] == least && values[found.greatest] == greatest);
}

std::vector<double> noise(std::size_t count) {
  std::mt19937 generator(7);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(generator);
  return values;
}

TEST(Thinning, keeps_minimum_and_maximum_of_every_bucket) {
  const auto values = noise(100'000);
  const PointSeries series = series_of(values);
  const Span span{0, 99'999};
  const Thinned thinned = thin(series, XAxis::step, span, 500, false);
  ASSERT_TRUE(thinned.thinned);
  EXPECT_LE(thinned.points.size(), 1002u);
  std::set<std::size_t> drawn;
  for (const DrawnPoint& point : thinned.points) drawn.insert(point.index);
  const auto width = static_cast<std::size_t>(bucket_width(span, 500));
  for (std::size_t begin = 0; begin < values.size(); begin += width) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin),
               last = values.begin() +
                      static_cast<std::ptrdiff_t>(std::min(begin + width, values.size()));
    EXPECT_TRUE(
        drawn.contains(static_cast<std::size_t>(std::min_element(first, last) - values.begin())));
    EXPECT_TRUE(
        drawn.contains(static_cast<std::size_t>(std::max_element(first, last) - values.begin())));
  }
  EXPECT_TRUE(drawn.contains(values.size() - 1));
}

TEST(Thinning, keeps_every_point_if_columns_suffice) {
  const Thinned thinned = thin(series_of(noise(800)), XAxis::step, {0, 799}, 500, false);
  EXPECT_FALSE(thinned.thinned);
  EXPECT_EQ(thinned.points.size(), 800u);
}

TEST(Thinning, keeps_one_point_beyond_each_end) {
  const Thinned thinned = thin(series_of(noise(100)), XAxis::step, {40, 60}, 500, false);
  EXPECT_EQ(thinned.points.front().index, 39u);
  EXPECT_EQ(thinned.points.back().index, 61u);
}

TEST(Thinning, breaks_the_line_at_steps_without_values) {
  PointSeries series;
  for (const double step : {0.0, 1.0, 2.0, 5.0, 6.0}) series.append({step, 0, 0, 1});
  const auto points = thin(series, XAxis::step, {0, 6}, 100, false).points;
  ASSERT_EQ(points.size(), 5u);
  EXPECT_TRUE(points[2].joined);
  EXPECT_FALSE(points[3].joined);
  EXPECT_TRUE(points[4].joined);
}

TEST(Thinning, gap_within_a_bucket_breaks_the_line) {
  PointSeries series;
  for (int step = 0; step < 10'000; ++step)
    if (step != 5'003) series.append({static_cast<double>(step), 0, 0, std::sin(step)});
  const auto points = thin(series, XAxis::step, {0, 9'999}, 100, false).points;
  EXPECT_EQ(std::ranges::count_if(points, [](const DrawnPoint& point) { return !point.joined; }),
            2);  // the first, and after the gap
}

TEST(Thinning, metric_of_every_tenth_step_is_dots) {
  PointSeries series;
  for (int step = 0; step < 1000; step += 10) series.append({static_cast<double>(step), 0, 0, 1});
  for (const DrawnPoint& point : thin(series, XAxis::step, {0, 1000}, 400, false).points)
    EXPECT_FALSE(point.joined);
}

TEST(Thinning, non_finite_value_breaks_the_line_and_is_counted) {
  const PointSeries series = series_of({1, kNaN, 2, kInf, 3, 4});
  const auto points = thin(series, XAxis::step, {0, 5}, 100, false).points;
  ASSERT_EQ(points.size(), 4u);
  EXPECT_FALSE(points[1].joined);
  EXPECT_FALSE(points[2].joined);
  EXPECT_TRUE(points[3].joined);
  EXPECT_EQ(series.drawable(false).skipped().size(), 2u);
}

TEST(Thinning, log_scale_omits_zero_and_negative_values) {
  const PointSeries series = series_of({10, 0, 1, -5, kNaN, kInf, 0.1});
  const auto points = thin(series, XAxis::step, {0, 6}, 100, true).points;
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[2].index, 6u);
  EXPECT_EQ(series.drawable(true).skipped().size(), 4u);
  const Extremes extremes = series.drawable(true).extremes(0, 7);
  EXPECT_EQ(series.value(extremes.least), 0.1);
  EXPECT_EQ(series.value(extremes.greatest), 10);
}

TEST(Smoother, follows_the_debiased_average_of_tensorboard) {
  Smoother smoother(0.6);
  EXPECT_DOUBLE_EQ(smoother.next(5), 5);  // debiased: the first value stands
  const double second = (0.6 * 0.4 * 5 + 0.4 * 1) / (1 - 0.36);
  EXPECT_DOUBLE_EQ(smoother.next(1), second);
  EXPECT_TRUE(std::isnan(smoother.next(kNaN)));
  EXPECT_DOUBLE_EQ(smoother.next(2), (0.6 * (0.6 * 0.4 * 5 + 0.4 * 1) + 0.4 * 2) / (1 - 0.216));
}

TEST(Smoother, has_no_effect_with_weight_zero) {
  Smoother smoother(0);
  for (const double value : {3.0, -1.0, 7.5}) EXPECT_EQ(smoother.next(value), value);
}

TEST(RateMeter, returns_the_increase_per_second_since_the_last_sample) {
  RateMeter meter;
  EXPECT_FALSE(meter.next(1, 100));
  EXPECT_DOUBLE_EQ(*meter.next(3, 500), 200);
  EXPECT_FALSE(meter.next(3, 600));  // no time passed, so there is no rate
  EXPECT_DOUBLE_EQ(*meter.next(4, 700), 100);
  EXPECT_FALSE(meter.next(5, 50));  // restarted
  EXPECT_DOUBLE_EQ(*meter.next(6, 80), 30);
}

TEST(StepGather, waits_for_every_source_and_leaves_a_gap_for_a_lost_step) {
  StepGather gather(2, Over::sum);
  EXPECT_FALSE(gather.add({0, 0, 1, 10}));
  EXPECT_FALSE(gather.add({1, 0, 2, 20}));
  EXPECT_FALSE(gather.add({2, 0, 3, 30}));
  EXPECT_EQ(gather.add({0, 0, 1.5, 1})->value, 11);
  const auto third = gather.add({2, 0, 3.5, 3});  // the other source lost step 1
  ASSERT_TRUE(third);
  EXPECT_EQ(third->step, 2);
  EXPECT_EQ(third->value, 33);
  EXPECT_EQ(third->seconds, 3.5);
  EXPECT_FALSE(gather.add({1, 0, 9, 1}));
}

TEST(StepGather, returns_mean_or_maximum) {
  StepGather mean(2, Over::mean), greatest(2, Over::greatest);
  mean.add({0, 0, 0, -4});
  greatest.add({0, 0, 0, -4});
  EXPECT_EQ(mean.add({0, 0, 0, -8})->value, -6);
  EXPECT_EQ(greatest.add({0, 0, 0, -8})->value, -4);
}

}  // namespace
}  // namespace trainyard::ui
