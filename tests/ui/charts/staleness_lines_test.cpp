// SPDX-License-Identifier: GPL-3.0-or-later
// Staleness of gradients over steps, with lines of the theory.
#include <gtest/gtest.h>

#include <map>
#include <span>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "tests/drawings.h"
#include "tests/ui/charts/line_reading.h"

namespace trainyard::ui {
namespace {

using experiment::ServerMode;

constexpr int kServedSteps = 40, kServer = 4;

experiment::Experiment served(ServerMode mode) {
  experiment::Experiment e;
  e.topology.hosts = {tests::drawn_host("alpha", kServer + 1)};
  e.topology.hosts[0].devices[kServer].role = topology::Role::parameter_server;
  e.data.kind = data::DataKind::blobs;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.servers.mode = mode;
  return e;
}

// History of four workers, whose gradients are each 2 versions old.
telemetry::History served_history(const experiment::Experiment& experiment,
                                  std::optional<int> lost_at = {}) {
  const test::SyntheticRun run{
      .ranks = kServer + 1,
      .experiment = experiment::to_json(experiment::resolve(experiment, ".").value())};
  const QTemporaryDir directory;
  auto writer = run.create(directory.path().toStdString());
  EXPECT_TRUE(run.append(writer, 0, kServedSteps));
  std::vector<telemetry::Event> events;
  for (int step = 0; step < kServedSteps; ++step) {
    telemetry::Event& event = events.emplace_back();
    event.begin_ns = event.ready_ns = event.end_ns = (step + 1) * 5'000'000LL;
    event.value = 2, event.step = step;
    event.subject = static_cast<std::uint16_t>(telemetry::Metric::staleness),
    event.index = static_cast<std::uint16_t>(step % kServer);
  }
  EXPECT_TRUE(writer.append_events(kServer, events));
  if (lost_at) {
    const base::Json state{{"state", "running"},
                           {"time_ns", 1'000'000'000},
                           {"step", *lost_at},
                           {"fault", {{"kind", "lost"}, {"rank", 1}}}};
    EXPECT_TRUE(writer.append_json(telemetry::FrameType::state, -1, state));
  }
  EXPECT_TRUE(writer.close());
  return *telemetry::History::load(directory.path().toStdString());
}

// Returns the labels of theory lines, and checks that they have a value at every step.
QStringList theory(const experiment::Experiment& experiment, double value) {
  const telemetry::History history = served_history(experiment);
  QStringList labels;
  for (const LineSpec& spec : lines_of(ChartKind::staleness, history, {}, {})) {
    const auto points = points_of(history, spec);
    if (spec.id.startsWith("worker")) {
      EXPECT_EQ(points.size(), static_cast<std::size_t>(kServedSteps / kServer));
      continue;
    }
    labels << spec.style.label;
    EXPECT_EQ(points.size(), static_cast<std::size_t>(kServedSteps)) << spec.id.toStdString();
    for (const SeriesPoint& point : points)
      EXPECT_DOUBLE_EQ(point.value, value) << spec.id.toStdString();
  }
  return labels;
}

TEST(StalenessLines, include_the_theoretical_mean_or_bound) {
  EXPECT_EQ(theory(served(ServerMode::asynchronous), 3), QStringList{"theory, mean: λ - 1 = 3"});
  experiment::Experiment soft = served(ServerMode::softsync);
  soft.strategy.servers.softsync = 2;
  EXPECT_EQ(theory(soft, 1.5), QStringList{"theory, mean: n (1 - 1/λ) = 1.5"});
  experiment::Experiment bounded = served(ServerMode::stale_synchronous);
  bounded.strategy.servers.bound = 2;
  EXPECT_EQ(theory(bounded, 15), QStringList{"theory, maximum: (2s + 1)(λ - 1) = 15"});
  EXPECT_EQ(theory(served(ServerMode::synchronous), 0), QStringList{"theory: always 0"});
}

TEST(StalenessLines, have_no_theory_line_without_a_theory) {
  experiment::Experiment uneven = served(ServerMode::softsync);
  uneven.strategy.servers.softsync = 3;
  EXPECT_EQ(theory(uneven, 0), QStringList()) << "3 does not divide 4";
}

TEST(StalenessLines, theoretical_mean_is_dashed_and_bound_is_solid) {
  const auto dashed = [](ServerMode mode) {
    const telemetry::History history = served_history(served(mode));
    return lines_of(ChartKind::staleness, history, {}, {}).back().style.dashed;
  };
  EXPECT_EQ(dashed(ServerMode::asynchronous), true);
  EXPECT_EQ(dashed(ServerMode::stale_synchronous), false);
}

TEST(StalenessLines, theoretical_mean_ends_when_a_worker_is_lost_but_bound_continues) {
  const auto points = [](ServerMode mode) {
    const telemetry::History history = served_history(served(mode), 9);
    return points_of(history, lines_of(ChartKind::staleness, history, {}, {}).back());
  };
  EXPECT_EQ(points(ServerMode::asynchronous).size(), 10u) << "steps 0 to 9";
  EXPECT_EQ(points(ServerMode::stale_synchronous).size(), static_cast<std::size_t>(kServedSteps));
}

// A gradient that a worker pushes after an evaluation is a hundred times as stale. The axis fits
// the other gradients and the theory.
TEST(StalenessLines, axis_includes_theory_and_most_gradients) {
  std::map<QString, AxisLimit> reach;
  const telemetry::History history = served_history(served(ServerMode::asynchronous));
  for (const LineSpec& spec : lines_of(ChartKind::staleness, history, {}, {}))
    reach[spec.id] = spec.style.reach;
  for (int worker = 0; worker < kServer; ++worker)
    EXPECT_EQ(reach.at(QString("worker%1").arg(worker)), AxisLimit::percentile);
  EXPECT_EQ(reach.at("theory_mean"), AxisLimit::whole);
}

TEST(StalenessLines, exclude_theory_with_several_runs) {
  const telemetry::History history = served_history(served(ServerMode::asynchronous));
  for (const LineSpec& spec : lines_of(ChartKind::staleness, history, RunStyle{"first", 0}, {}))
    EXPECT_TRUE(spec.id.startsWith("worker"));
}

TEST(StalenessLines, summarize_all_workers_in_blocks_of_gradients) {
  telemetry::History history;
  const base::Json header{{"run", "synthetic"},
                          {"ranks", kServer + 1},
                          {"segments", base::Json::array()},
                          {"first_server", kServer}};
  const std::string text = header.dump();
  ASSERT_TRUE(history.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(text))}));
  std::vector<telemetry::Event> events(120);
  for (int i = 0; i < 120; ++i) {
    telemetry::Event& event = events[static_cast<std::size_t>(i)];
    event.value = i % 50 + 1, event.step = i;
    event.begin_ns = event.ready_ns = event.end_ns = i * 1'000'000LL;
    event.subject = static_cast<std::uint16_t>(telemetry::Metric::staleness),
    event.index = static_cast<std::uint16_t>(i % kServer);
  }
  const auto take = [&](int server) {
    ASSERT_TRUE(
        history.take({telemetry::FrameType::events, server, std::as_bytes(std::span(events))}));
  };
  take(kServer);
  for (telemetry::Event& event : events) event.value = 1000;
  take(kServer + 1);  // receives gradients in another order
  std::map<QString, std::vector<double>> values;
  for (const LineSpec& spec : lines_of(ChartKind::staleness, history, {}, {}))
    if (spec.gathered && !spec.level) {
      EXPECT_EQ(spec.style.reach, AxisLimit::rest) << "the axis fits the summarized lines";
      for (const telemetry::StepValue& value : (history.*spec.gathered)())
        values[spec.id].push_back(value.value);
    }
  EXPECT_EQ(values["mean"], (std::vector<double>{25.5, 25.5})) << "the last block is incomplete";
  EXPECT_EQ(values["p95"], (std::vector<double>{48, 48}));
  EXPECT_EQ(values["most"], (std::vector<double>{50, 50}));
  EXPECT_EQ(history.staleness_mean()[1].step, 99);
  EXPECT_EQ(lines_of(ChartKind::staleness, history, RunStyle{"first", 0}, {}).size(),
            static_cast<std::size_t>(kServer))
      << "with another run, only workers are shown";
}

}  // namespace
}  // namespace trainyard::ui
