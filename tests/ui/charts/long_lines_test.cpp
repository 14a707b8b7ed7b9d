// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of long runs: their memory is bounded, and they show extremes and the end exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/ui/charts/line_reading.h"
#include "ui/charts/plot_model.h"

namespace trainyard::ui {
namespace {

constexpr int kSteps = 100'000;

double value_at(int step) { return step == 777 ? -50 : step == 4'321 ? 90 : std::sin(step * 0.7); }

SeriesPoint point_at(int step) {
  return {static_cast<double>(step), 4.0 * step, 0.01 * step, value_at(step)};
}

// Appends points in portions, as charts do.
void append(PlotModel& model, const QString& id, int steps) {
  std::vector<SeriesPoint> portion;
  for (int step = 0; step < steps; ++step) {
    portion.push_back(point_at(step));
    if (portion.size() < 64) continue;
    model.append(id, portion);
    portion.clear();
  }
  model.append(id, portion);
}

TEST(LongLines, keep_extremes_and_the_end) {
  PlotModel model;
  model.put("line", {.label = "line"});
  append(model, "line", kSteps);
  const PointSeries& points = model.find("line")->points;
  EXPECT_LE(points.size(), PlotModel::kMaxPoints);
  EXPECT_GE(points.size(), PlotModel::kMaxPoints / 4);
  EXPECT_EQ(points.at(0).step, 0);
  std::vector<double> values;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SeriesPoint point = points.at(i);
    ASSERT_EQ(point.value, value_at(static_cast<int>(point.step))) << "of a logged step";
    ASSERT_EQ(point.samples, 4 * point.step);
    values.push_back(point.value);
  }
  EXPECT_EQ(std::ranges::min(values), -50);
  EXPECT_EQ(std::ranges::max(values), 90);
  for (std::size_t back = 1; back < PlotModel::kMaxPoints / 4; ++back)
    ASSERT_EQ(points.at(points.size() - back).step, kSteps - static_cast<int>(back));
  EXPECT_TRUE(points.drawable(false).joined(0, points.size() - 1)) << "thinned steps are no gaps";
}

TEST(LongLines, are_replaced_as_a_whole_if_they_are_thinned) {
  PlotModel model;
  model.put("line", {.label = "line"});
  append(model, "line", 1'000);
  const std::uint64_t before = model.find("line")->revision;
  append(model, "line", 1'000);
  EXPECT_EQ(model.find("line")->revision, before);
  append(model, "line", kSteps);
  EXPECT_NE(model.find("line")->revision, before);
}

TEST(LongLines, keep_the_smoothed_values_of_their_points) {
  PlotModel model;
  model.put("line", {.label = "line"});
  model.set_smoothing(0.9);
  append(model, "line", kSteps);
  Smoother smoother(0.9);
  std::vector<double> expected;
  for (int step = 0; step < kSteps; ++step) expected.push_back(smoother.next(value_at(step)));
  const PlotSeries& line = *model.find("line");
  ASSERT_EQ(line.smoothed.size(), line.points.size());
  for (std::size_t i = 0; i < line.points.size(); ++i)
    ASSERT_EQ(line.smoothed.value(i), expected[static_cast<std::size_t>(line.points.at(i).step)]);
}

TEST(LongLines, stack_at_the_steps_that_all_parts_keep) {
  PlotModel model;
  for (const char* id : {"low", "high"}) model.put(id, {.label = id, .stacked = true});
  for (int step = 0; step < 40'000; ++step) {
    const SeriesPoint low = point_at(step);
    SeriesPoint high = low;
    high.value = 100 + std::cos(step * 1.3);
    model.append("low", std::span(&low, 1));
    model.append("high", std::span(&high, 1));
  }
  model.stack();
  const PointSeries& tops = model.find("high")->tops;
  EXPECT_GT(tops.size(), PlotModel::kMinPoints / 4);
  for (std::size_t i = 0; i < tops.size(); ++i) {
    const int step = static_cast<int>(tops.at(i).step);
    ASSERT_NEAR(tops.value(i), value_at(step) + 100 + std::cos(step * 1.3), 1e-9) << step;
  }
}

// History whose series are thinned before any line is read.
telemetry::History thinned_history(const test::SyntheticRun& run, int steps) {
  telemetry::History history(500);
  const std::string header = run.header().dump();
  EXPECT_TRUE(history.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(header))}));
  for (int step = 0; step < steps; ++step)
    for (int rank = 0; rank < run.ranks; ++rank) {
      const auto events = run.step(rank, step);
      EXPECT_TRUE(
          history.take({telemetry::FrameType::events, rank, std::as_bytes(std::span(events))}));
    }
  return history;
}

TEST(LongLines, have_exact_values_and_samples_if_they_are_read_late) {
  const auto history = thinned_history({}, 20'000);
  EXPECT_GT(history.thinned_until(), 15'000);
  const auto lines = lines_of(ChartKind::loss, history, {}, {});
  const auto points = points_of(history, line(lines, "train"));
  ASSERT_GT(points.size(), 2'000u);
  ASSERT_LE(points.size(), 4'000u);
  for (const SeriesPoint& point : points) {
    const int step = static_cast<int>(point.step);
    ASSERT_NEAR(point.value, test::SyntheticRun::loss(step), 1e-12) << step;
    ASSERT_NEAR(point.samples, (step + 1) * 128, 1e-6) << step;
  }
  EXPECT_EQ(points.back().step, 19'999);
  PlotModel model;
  model.put("train", {.label = "train"});
  model.append("train", points);
  EXPECT_TRUE(model.find("train")->points.drawable(false).joined(0, points.size() - 1));
}

TEST(LongLines, of_several_ranks_have_values_at_the_steps_that_all_ranks_keep) {
  const auto history = thinned_history({}, 20'000);
  const auto lines = lines_of(ChartKind::step_time, history, {}, {});
  const auto points = points_of(history, lines.front());
  EXPECT_GT(points.size(), 500u);
  const auto early =
      std::ranges::count_if(points, [](const SeriesPoint& point) { return point.step < 15'000; });
  EXPECT_GT(early, 50);
}

TEST(LongLines, read_each_value_once_while_the_history_is_thinned) {
  const test::SyntheticRun run;
  telemetry::History history(200);
  const std::string header = run.header().dump();
  ASSERT_TRUE(history.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(header))}));
  std::optional<LineReading> reading;
  for (int step = 0; step < 3'000; ++step) {
    for (int rank = 0; rank < run.ranks; ++rank) {
      const auto events = run.step(rank, step);
      ASSERT_TRUE(
          history.take({telemetry::FrameType::events, rank, std::as_bytes(std::span(events))}));
    }
    if (!reading) {
      const auto lines = lines_of(ChartKind::loss, history, {}, {});
      reading.emplace(line(lines, "train"));
    }
    reading->read(history);
  }
  while (reading->read(history, true)) continue;
  ASSERT_EQ(reading->points().size(), 3'000u);
  for (int step = 0; step < 3'000; ++step) {
    const SeriesPoint& point = reading->points()[static_cast<std::size_t>(step)];
    ASSERT_EQ(point.step, step);
    ASSERT_EQ(point.samples, (step + 1) * 128);
  }
}

}  // namespace
}  // namespace trainyard::ui
