// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/run_charts.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QTest>

#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui {
namespace {

constexpr int kPatience = 60'000;  // milliseconds
constexpr std::size_t kSteps = 1500;

// Of one run on the charts: how many points a line has, which are those of its first steps.
std::size_t steps_from_the_start(const RunCharts& charts, ChartKind kind, const QString& id) {
  const PlotSeries* line = charts.plot(kind).model().find("1/" + id);
  if (!line) return 0;
  for (std::size_t i = 0; i < line->points.size(); ++i)
    if (line->points.x(XAxis::step, i) != static_cast<double>(i)) return 0;
  return line->points.size();
}

// While the rest is read no line has a hole, and no part of a step goes ahead of the others.
void expect_whole_in_the_end(const RunCharts& charts) {
  const auto read = [&] {
    const std::size_t parts = steps_from_the_start(charts, ChartKind::step_time, "part0");
    EXPECT_GE(parts, kValuesAtOnce);
    EXPECT_EQ(steps_from_the_start(charts, ChartKind::step_time, "part4"), parts);
    EXPECT_EQ(steps_from_the_start(charts, ChartKind::gradient_norm, "reduced0"), parts);
    return !charts.reading() || testing::Test::HasFailure();
  };
  ASSERT_TRUE(QTest::qWaitFor(read, kPatience));
  for (const char* id : {"part0", "part1", "part2", "part3", "part4"}) EXPECT_EQ(steps_from_the_start(charts, ChartKind::step_time, id), kSteps) << id;
  EXPECT_EQ(steps_from_the_start(charts, ChartKind::gradient_norm, "reduced0"), kSteps);
  EXPECT_EQ(steps_from_the_start(charts, ChartKind::loss, "train"), kSteps);
}

TEST(RunCharts, draw_a_long_run_from_its_start_while_the_rest_is_read_whatever_is_chosen) {
  QTemporaryDir directory;
  test::SyntheticRun{.ranks = 2}.record(directory.path().toStdString(), static_cast<int>(kSteps));
  const auto run = ui::Run::open({}, directory.path());
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }, kPatience));
  RunCharts charts;
  charts.set_runs({run.get()});
  expect_whole_in_the_end(charts);
  charts.set_choice({.segment = -1});
  expect_whole_in_the_end(charts);
  charts.set_choice({.segment = -1, .step_time_of = LineChoice::kSlowest});
  expect_whole_in_the_end(charts);
}

std::unique_ptr<Run> recorded(const QTemporaryDir& directory, const test::SyntheticRun& run) {
  run.record(directory.path().toStdString(), 20);
  auto opened = Run::open({}, directory.path());
  EXPECT_TRUE(QTest::qWaitFor([&] { return opened->complete(); }, kPatience));
  return opened;
}

TEST(RunCharts, stand_over_the_bytes_that_all_ranks_sent_where_they_send_any) {
  const QTemporaryDir two_directory, one_directory;
  const auto two = recorded(two_directory, {.ranks = 2}), one = recorded(one_directory, {.ranks = 1});
  RunCharts charts;
  charts.set_x_axis(XAxis::bytes);
  charts.set_runs({two.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  const auto* axis = charts.findChild<QComboBox*>("x_axis");
  ASSERT_TRUE(axis);
  EXPECT_EQ(axis->currentText(), "bytes sent");
  const auto extent = charts.plot(ChartKind::loss).model().x_extent(XAxis::bytes);
  ASSERT_TRUE(extent);
  EXPECT_EQ(extent->low, 2 * test::SyntheticRun::kBytesPerStep);
  EXPECT_EQ(extent->high, 20 * 2 * test::SyntheticRun::kBytesPerStep);
  charts.set_runs({one.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  EXPECT_EQ(axis->currentText(), "step") << "one rank sends nothing";
  EXPECT_FALSE(axis->model()->flags(axis->model()->index(static_cast<int>(XAxis::bytes), 0)) & Qt::ItemIsEnabled);
}

TEST(RunCharts, of_compression_are_there_only_with_a_run_that_compresses) {
  const QTemporaryDir plain_directory, compressed_directory;
  const auto plain = recorded(plain_directory, {.ranks = 2}), compressed = recorded(compressed_directory, {.ranks = 2, .compression_ratio = 4});
  RunCharts charts;
  charts.show();
  const auto seen = [&] { return charts.plot(ChartKind::residual_norm).isVisible() && charts.plot(ChartKind::compression_ratio).isVisible(); };
  const auto neither = [&] { return !charts.plot(ChartKind::residual_norm).isVisible() && !charts.plot(ChartKind::compression_ratio).isVisible(); };
  EXPECT_TRUE(neither());
  charts.set_runs({plain.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  EXPECT_TRUE(neither());
  charts.set_runs({plain.get(), compressed.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  EXPECT_TRUE(seen());
  charts.grid().set_shown("residual_norm", false);
  EXPECT_FALSE(charts.plot(ChartKind::residual_norm).isVisible()) << "hidden by a person";
  charts.set_runs({plain.get()});
  EXPECT_TRUE(neither());
  charts.set_runs({compressed.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return charts.plot(ChartKind::compression_ratio).isVisible(); }, kPatience));
  EXPECT_FALSE(charts.plot(ChartKind::residual_norm).isVisible()) << "still hidden";
  EXPECT_TRUE(charts.grid().arrangement().contains("-residual_norm"));
  EXPECT_TRUE(charts.grid().arrangement().contains("compression_ratio"));
}

}  // namespace
}  // namespace trainyard::ui
