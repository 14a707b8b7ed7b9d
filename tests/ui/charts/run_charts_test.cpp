// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/run_charts.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QTest>
#include <cmath>

#include "core/experiment/resolve.h"
#include "tests/core/strategy/experiments.h"
#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/patience.h"

namespace trainyard::ui {
namespace {

using test::kPatience;

constexpr std::size_t kLongSteps = 1500;

// Number of points of a run's line that are those of its first steps.
std::size_t steps_from_the_start(const RunCharts& charts, ChartKind kind, const QString& id) {
  const PlotSeries* line = charts.plot(kind).model().find("1/" + id);
  if (!line) return 0;
  for (std::size_t i = 0; i < line->points.size(); ++i)
    if (line->points.x(XAxis::step, i) != static_cast<double>(i)) return 0;
  return line->points.size();
}

// During reading no line has a gap, and all parts of a step have the same points.
void expect_whole_in_the_end(const RunCharts& charts) {
  const auto read = [&] {
    const std::size_t parts = steps_from_the_start(charts, ChartKind::step_time, "part0");
    EXPECT_GE(parts, kValuesAtOnce);
    EXPECT_EQ(steps_from_the_start(charts, ChartKind::step_time, "part4"), parts);
    EXPECT_EQ(steps_from_the_start(charts, ChartKind::gradient_norm, "reduced0"), parts);
    return !charts.reading() || testing::Test::HasFailure();
  };
  ASSERT_TRUE(QTest::qWaitFor(read, kPatience));
  for (const char* id : {"part0", "part1", "part2", "part3", "part4"})
    EXPECT_EQ(steps_from_the_start(charts, ChartKind::step_time, id), kLongSteps) << id;
  EXPECT_EQ(steps_from_the_start(charts, ChartKind::gradient_norm, "reduced0"), kLongSteps);
  EXPECT_EQ(steps_from_the_start(charts, ChartKind::loss, "train"), kLongSteps);
}

TEST(RunCharts, draw_a_long_run_from_its_start_while_it_is_read) {
  QTemporaryDir directory;
  test::SyntheticRun{.ranks = 2}.record(directory.path().toStdString(),
                                        static_cast<int>(kLongSteps));
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
  auto opened = ui::Run::open({}, directory.path());
  EXPECT_TRUE(QTest::qWaitFor([&] { return opened->complete(); }, kPatience));
  return opened;
}

TEST(RunCharts, support_an_axis_of_sent_bytes_if_ranks_send_any) {
  const QTemporaryDir two_directory, one_directory;
  const auto two = recorded(two_directory, {.ranks = 2}),
             one = recorded(one_directory, {.ranks = 1});
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
  EXPECT_FALSE(axis->model()->flags(axis->model()->index(static_cast<int>(XAxis::bytes), 0)) &
               Qt::ItemIsEnabled);
}

TEST(RunCharts, include_compression_only_for_runs_with_compression) {
  const QTemporaryDir plain_directory, compressed_directory;
  const auto plain = recorded(plain_directory, {.ranks = 2}),
             compressed = recorded(compressed_directory, {.ranks = 2, .compression_ratio = 4});
  RunCharts charts;
  charts.show();
  const auto seen = [&] {
    return charts.plot(ChartKind::residual_norm).isVisible() &&
           charts.plot(ChartKind::compression_ratio).isVisible();
  };
  const auto neither = [&] {
    return !charts.plot(ChartKind::residual_norm).isVisible() &&
           !charts.plot(ChartKind::compression_ratio).isVisible();
  };
  EXPECT_TRUE(neither());
  charts.set_runs({plain.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  EXPECT_TRUE(neither());
  charts.set_runs({plain.get(), compressed.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  EXPECT_TRUE(seen());
  charts.grid().set_shown("residual_norm", false);
  EXPECT_FALSE(charts.plot(ChartKind::residual_norm).isVisible()) << "hidden by the user";
  charts.set_runs({plain.get()});
  EXPECT_TRUE(neither());
  charts.set_runs({compressed.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return charts.plot(ChartKind::compression_ratio).isVisible(); },
                              kPatience));
  EXPECT_FALSE(charts.plot(ChartKind::residual_norm).isVisible()) << "still hidden";
  EXPECT_TRUE(charts.grid().arrangement().contains("-residual_norm"));
  EXPECT_TRUE(charts.grid().arrangement().contains("compression_ratio"));
}

TEST(RunCharts, support_axes_of_samples_and_time) {
  const QTemporaryDir directory;
  const test::SyntheticRun of{.ranks = 2};
  const auto run = recorded(directory, of);
  RunCharts charts;
  charts.set_runs({run.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  const PlotModel& loss = charts.plot(ChartKind::loss).model();
  for (const XAxis axis : {XAxis::samples, XAxis::seconds}) {
    charts.set_x_axis(axis);
    EXPECT_EQ(charts.plot(ChartKind::loss).shown().axis, axis);
  }
  EXPECT_EQ(loss.x_extent(XAxis::samples)->low, 2 * 32);
  EXPECT_EQ(loss.x_extent(XAxis::samples)->high, 20 * 2 * 32);
  EXPECT_NEAR(loss.x_extent(XAxis::seconds)->width(), 19 * of.seconds_per_step, 1e-4);
}

TEST(RunCharts, show_only_the_samples_of_memory_of_every_rank) {
  const QTemporaryDir directory, other_directory;
  const auto run = recorded(directory, {.ranks = 3}),
             other = recorded(other_directory, {.ranks = 3});
  RunCharts charts;
  for (const auto& runs : {std::vector{run.get()}, std::vector{run.get(), other.get()}}) {
    charts.set_runs(runs);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
    const PlotModel& memory = charts.plot(ChartKind::memory).model();
    EXPECT_EQ(memory.series().size(), 3 * runs.size());
    for (const auto& line : memory.series())
      EXPECT_EQ(line->points.joining(), Joining::never) << line->style.label.toStdString();
  }
}

// A run that can be simulated, and one that cannot.
test::SyntheticRun simulable() {
  return {.ranks = 2,
          .experiment = experiment::to_json(strategy::resolved(strategy::small_images(2)))};
}

std::vector<double> simulated_seconds(const RunCharts& charts, const QString& line = "1/train") {
  const PlotSeries* loss = charts.plot(ChartKind::loss).model().find(line);
  std::vector<double> seconds;
  for (std::size_t i = 0; loss && i < loss->points.size(); ++i)
    seconds.push_back(loss->points.x(XAxis::simulated, i));
  return seconds;
}

// 20 steps of two ranks and 32 samples each, of 250.
TEST(RunCharts, support_an_axis_of_epochs_if_the_data_size_is_known) {
  const QTemporaryDir directory, other_directory;
  const auto run = recorded(directory, simulable()),
             other = recorded(other_directory, {.ranks = 2});
  RunCharts charts;
  charts.set_runs({run.get(), other.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  charts.set_x_axis(XAxis::passes);
  const PlotModel& loss = charts.plot(ChartKind::loss).model();
  const PlotSeries *known = loss.find("1/train"), *unknown = loss.find("2/train");
  ASSERT_TRUE(known && unknown);
  EXPECT_NEAR(known->points.x(XAxis::passes, known->points.size() - 1), 20 * 2 * 32 / 250.0, 1e-9);
  EXPECT_TRUE(std::isnan(unknown->points.x(XAxis::passes, 0)));
}

// Occasional measurements, such as those of an evaluator, are drawn at the samples trained so far
// and at their time.
TEST(RunCharts, held_out_samples_support_axes_of_time_samples_and_epochs) {
  const QTemporaryDir directory;
  const test::SyntheticRun of = simulable();
  of.record(directory.path().toStdString(), 500);
  const auto run = ui::Run::open({}, directory.path());
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }, kPatience));
  RunCharts charts;
  charts.set_runs({run.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
  for (const ChartKind kind : {ChartKind::loss, ChartKind::accuracy}) {
    const PlotSeries* held_out = charts.plot(kind).model().find("1/held_out");
    ASSERT_TRUE(held_out);
    ASSERT_EQ(held_out->points.size(), 2u);
    for (const std::size_t at : {0, 1}) {
      const double steps = 250.0 * static_cast<double>(at + 1);
      EXPECT_EQ(held_out->points.x(XAxis::samples, at), steps * 2 * 32);
      EXPECT_NEAR(held_out->points.x(XAxis::passes, at), steps * 2 * 32 / 250, 1e-9);
      EXPECT_NEAR(held_out->points.x(XAxis::seconds, at), (steps - 1) * of.seconds_per_step, 1e-4);
    }
  }
}

// Two workers in turn; their server is the last rank.
TEST(RunCharts, click_on_a_staleness_point_requests_its_gradient_with_one_run) {
  const QTemporaryDir directory;
  const test::SyntheticRun of{.ranks = 3};
  auto writer = of.create(directory.path().toStdString());
  EXPECT_TRUE(of.append(writer, 0, 20));
  std::vector<telemetry::Event> events(20);
  for (int i = 0; i < 20; ++i) {
    telemetry::Event& event = events[static_cast<std::size_t>(i)];
    event.begin_ns = event.ready_ns = event.end_ns = (i + 1) * 5'000'000LL;
    event.value = 1, event.step = i;
    event.subject = static_cast<std::uint16_t>(telemetry::Metric::staleness),
    event.index = static_cast<std::uint16_t>(i % 2);
  }
  EXPECT_TRUE(writer.append_events(2, events));
  EXPECT_TRUE(writer.close());
  const auto run = ui::Run::open({}, directory.path()), again = ui::Run::open({}, directory.path());
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete() && again->complete(); }, kPatience));
  RunCharts charts;
  charts.resize(1200, 800);
  charts.show();
  std::vector<std::pair<int, double>> wanted;
  QObject::connect(&charts, &RunCharts::gradient_requested,
                   [&](int rank, double seconds) { wanted.emplace_back(rank, seconds); });
  const auto choose = [&](const std::vector<ui::Run*>& runs) {
    charts.set_runs(runs);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !charts.reading(); }, kPatience));
    PlotView& staleness = charts.plot(ChartKind::staleness);
    staleness.refresh();
    for (const auto key : {Qt::Key_Left, Qt::Key_Return, Qt::Key_Left, Qt::Key_Return})
      QTest::keyClick(&staleness.canvas(), key);
  };
  choose({run.get()});
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].first, 0)
      << "the first line is of worker 0, whose last but one is of step 16";
  EXPECT_NEAR(wanted[0].second, 16 * 0.005, 1e-5);
  EXPECT_NEAR(wanted[1].second, 14 * 0.005, 1e-5);
  choose({run.get(), again.get()});
  EXPECT_EQ(wanted.size(), 2u) << "of two runs the timeline shows one";
}

TEST(RunCharts, support_an_axis_of_simulated_time) {
  const QTemporaryDir directory;
  const auto run = recorded(directory, simulable());
  RunCharts charts;
  charts.set_runs({run.get()});
  ASSERT_TRUE(QTest::qWaitFor([&] { return simulated_seconds(charts).size() == 20; }, kPatience));
  EXPECT_TRUE(std::isnan(simulated_seconds(charts).front())) << "no simulation was requested";
  charts.set_x_axis(XAxis::simulated);
  EXPECT_TRUE(simulated_seconds(charts).empty()) << "points are hidden during the simulation";
  ASSERT_TRUE(QTest::qWaitFor([&] { return simulated_seconds(charts).size() == 20; }, kPatience));
  const auto time = simulated_time(run->history().header()["experiment"], {});
  ASSERT_TRUE(time);
  EXPECT_GT(time->seconds_until(0), 0);
  for (std::size_t step = 0; step < 20; ++step)
    EXPECT_EQ(simulated_seconds(charts)[step],
              time->seconds_until(static_cast<std::int64_t>(step)));
  charts.set_x_axis(XAxis::step);
  EXPECT_EQ(simulated_seconds(charts).size(), 20u) << "the result is kept";
}

TEST(RunCharts, without_simulation_show_the_reason_instead_of_points) {
  const QTemporaryDir directory;
  const auto run = recorded(directory, {.ranks = 2});
  RunCharts charts;
  charts.resize(800, 600);
  charts.show();
  charts.set_x_axis(XAxis::simulated);
  charts.set_runs({run.get()});
  const auto empty_text = [&] { return charts.plot(ChartKind::loss).overlay().empty; };
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return empty_text().startsWith("No simulated time: "); }, kPatience))
      << empty_text().toStdString();
  EXPECT_TRUE(simulated_seconds(charts).empty());
  charts.set_x_axis(XAxis::step);
  ASSERT_TRUE(QTest::qWaitFor([&] { return simulated_seconds(charts).size() == 20; }, kPatience));
}

TEST(RunCharts, use_the_simulated_time_of_each_run) {
  const QTemporaryDir fast_directory, slow_directory;
  auto slow_run = simulable();
  slow_run.experiment["document"]["topology"]["hosts"][0]["bus_bandwidth_bits_per_second"] = 1e6;
  const auto fast = recorded(fast_directory, simulable()),
             slow = recorded(slow_directory, slow_run);
  RunCharts charts;
  charts.set_x_axis(XAxis::simulated);
  charts.set_runs({fast.get(), slow.get()});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        return simulated_seconds(charts).size() == 20 &&
               simulated_seconds(charts, "2/train").size() == 20;
      },
      kPatience));
  EXPECT_GT(simulated_seconds(charts, "2/train").back(), 2 * simulated_seconds(charts).back());
}

}  // namespace
}  // namespace trainyard::ui
