// SPDX-License-Identifier: GPL-3.0-or-later
// Readers of long and of growing histories.
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <utility>

#include "core/base/json.h"
#include "tests/fuzzing.h"
#include "tests/ui/charts/line_reading.h"

namespace trainyard::ui {
namespace {

TEST(LineReader, reads_a_long_history_incrementally_and_completely) {
  constexpr int kRecordedSteps = 300;
  const auto history = history_of({.ranks = 2}, kRecordedSteps);
  for (const ChartKind kind : {ChartKind::loss, ChartKind::gradient_norm, ChartKind::step_time,
                               ChartKind::samples_rate, ChartKind::memory}) {
    const LineSpec spec = lines_of(kind, history, {}, {}).at(0);
    LineReading reading(spec);
    ASSERT_TRUE(reading.read(history, true)) << chart_title(kind).name;
    EXPECT_EQ(reading.points().size(), kValuesAtOnce) << chart_title(kind).name;
    while (reading.read(history, true)) continue;
    ASSERT_EQ(reading.points().size(), std::size_t{kRecordedSteps}) << chart_title(kind).name;
    for (int step = 0; step < kRecordedSteps; ++step) {
      const SeriesPoint& point = reading.points()[static_cast<std::size_t>(step)];
      ASSERT_EQ(point.step, step) << chart_title(kind).name;
      ASSERT_EQ(point.samples, 64 * (step + 1)) << chart_title(kind).name;
    }
  }
}

TEST(StepSplit, reads_all_parts_of_a_step_once) {
  const auto history = history_of({.ranks = 2}, 100);
  StepSplit split(LineChoice::kMean);
  const auto expect_steps = [&](std::size_t steps) {
    for (std::size_t part = 0; part < kStepParts; ++part)
      EXPECT_EQ(split.values(static_cast<StepPart>(part)).size(), steps) << part;
  };
  EXPECT_TRUE(split.read(history));
  expect_steps(kValuesAtOnce);
  EXPECT_FALSE(split.read(history));
  expect_steps(100);
}

// A recording that is read while it is written.
class GrowingHistory {
 public:
  explicit GrowingHistory(int ranks)
      : run_(test::SyntheticRun{.ranks = ranks}),
        writer_(run_.create(directory_.path().toStdString())),
        reader_(std::move(*telemetry::RecordingReader::open(
            directory_.filePath(telemetry::kRecordingFile).toStdString()))) {}

  // Appends all events of the rank for these steps.
  void report(int rank, int begin, int end) {
    for (int step = begin; step < end; ++step)
      EXPECT_TRUE(writer_.append_events(rank, run_.step(rank, step)));
    EXPECT_TRUE(writer_.flush());
    for (auto frame = reader_.next(); frame && *frame; frame = reader_.next())
      EXPECT_TRUE(history_.take(**frame));
  }
  const telemetry::History& history() const { return history_; }

 private:
  test::SyntheticRun run_;
  QTemporaryDir directory_;
  telemetry::RecordingWriter writer_;
  telemetry::RecordingReader reader_;
  telemetry::History history_;
};

TEST(LineReader, returns_each_point_of_a_growing_history_once) {
  GrowingHistory growing(2);
  for (const int rank : {0, 1}) growing.report(rank, 0, 3);
  LineReading rate(lines_of(ChartKind::samples_rate, growing.history(), {}, {}).at(0));
  EXPECT_FALSE(rate.read(growing.history()));
  EXPECT_EQ(rate.points().size(), 3u);
  EXPECT_FALSE(rate.read(growing.history()));
  EXPECT_EQ(rate.points().size(), 3u);
  for (const int rank : {0, 1}) growing.report(rank, 3, 10);
  EXPECT_FALSE(rate.read(growing.history()));
  EXPECT_EQ(rate.points().size(), 10u);
}

// Until all ranks have reported, its position in samples and bytes would be a guess.
TEST(LineReader, returns_a_step_when_all_ranks_have_reported_it) {
  GrowingHistory growing(2);
  growing.report(0, 0, 3);
  growing.report(1, 0, 1);
  LineReading local(line(lines_of(ChartKind::gradient_norm, growing.history(), {}, {}), "local0"));
  local.read(growing.history());
  ASSERT_EQ(local.points().size(), 1u);
  EXPECT_EQ(local.points()[0].samples, 64);
  EXPECT_EQ(local.points()[0].bytes, 2 * test::SyntheticRun::kBytesPerStep)
      << "later steps of rank 0 are excluded";
  growing.report(1, 1, 2);
  local.read(growing.history());
  ASSERT_EQ(local.points().size(), 2u);
  EXPECT_EQ(local.points()[1].samples, 128);
}

TEST(LineReader, returns_incomplete_last_steps_after_the_end) {
  GrowingHistory growing(2);
  growing.report(0, 0, 3);
  growing.report(1, 0, 2);
  LineReading local(line(lines_of(ChartKind::gradient_norm, growing.history(), {}, {}), "local0"));
  local.read(growing.history(), true);
  ASSERT_EQ(local.points().size(), 3u);
  EXPECT_EQ(local.points()[2].step, 2);
  EXPECT_EQ(local.points()[2].samples, 128);
}

// With four workers, an update takes the gradients of three. The late worker also reports, or
// leaves out the step; the late worker differs between steps.
TEST(ProgressCounter, counts_samples_of_each_update_once_without_dropped_gradients) {
  telemetry::History history;
  const std::string header = base::Json{{"ranks", 5},           {"segments", base::Json::array()},
                                        {"reports_of_step", 3}, {"steps_apart", 1},
                                        {"only_applied", true}, {"first_server", 4}}
                                 .dump();
  ASSERT_TRUE(history.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(header))}));
  const auto take = [&](telemetry::Metric metric, int rank, int index, int step, double value,
                        double seconds) {
    telemetry::Event event;
    event.begin_ns = event.ready_ns = event.end_ns = static_cast<std::int64_t>(seconds * 1e9);
    event.value = value, event.step = step, event.index = static_cast<std::uint16_t>(index);
    event.subject = static_cast<std::uint16_t>(metric);
    ASSERT_TRUE(
        history.take({telemetry::FrameType::events, rank, std::as_bytes(std::span(&event, 1))}));
  };
  const auto report = [&](int rank, int step, double samples, double seconds) {
    take(telemetry::Metric::samples, rank, 0, step, samples, seconds);
  };
  const auto apply = [&](int worker, int step) {
    take(telemetry::Metric::staleness, 4, worker, step, 0, 1.2 + step);
  };
  for (int step = 0; step < 8; ++step)
    for (int rank = 0; rank < 4; ++rank) {
      const bool late = rank == step % 4;
      if (!late) report(rank, step, 10, 1 + step), apply(rank, step);
      else if (step % 2 == 0) report(rank, step, 7, 1.5 + step);
    }
  ProgressCounter progress;
  EXPECT_FALSE(progress.read(history, false));
  for (int step = 0; step < 8; ++step)
    EXPECT_EQ(progress.at(step).samples, 30 * (step + 1)) << step;
  for (const int worker : {1, 2, 3}) apply(worker, 8);
  report(1, 8, 10, 9), report(2, 8, 10, 9);
  EXPECT_FALSE(progress.read(history, false));
  EXPECT_FALSE(progress.knows(8)) << "another rank will report the step";
  report(3, 8, 10, 9);
  EXPECT_FALSE(progress.read(history, false));
  EXPECT_EQ(progress.at(8).samples, 270);
}

// Steps, metrics and indices of damaged recordings may have any value.
TEST(Fuzz, of_events_never_crashes_the_lines_of_charts) {
  const base::Json header{{"ranks", 2},
                          {"segments", {"0", "1"}},
                          {"first_server", 1},
                          {"evaluator", 1},
                          {"reports_of_step", 2},
                          {"steps_apart", 5},
                          {"first_step", 3},
                          {"lambda_2", 0.5},
                          {"buffer_bytes", base::Json::array({base::Json::array({1, 2})})}};
  fuzzing::fuzz(20, [&](fuzzing::Mutator& mutator) {
    telemetry::History history;
    const auto take = [&](telemetry::FrameType type, int rank, const std::string& payload) {
      static_cast<void>(history.take({type, rank, std::as_bytes(std::span(payload))}));
    };
    take(telemetry::FrameType::header, -1,
         base::to_text(mutator.below(2) == 0 ? mutator.mutate(header) : header));
    const test::SyntheticRun run{.ranks = 2, .averages = 1, .lambda_2 = 0.5};
    for (int step = 0; step < 30; ++step)
      for (int rank = 0; rank < 2; ++rank) {
        std::vector<telemetry::Event> events = run.step(rank, step);
        for (telemetry::Event& event : events) {
          if (mutator.below(50) == 0)
            event.step = static_cast<std::int32_t>(mutator.below(1 << 29));
          if (mutator.below(50) == 0) event.subject = static_cast<std::uint16_t>(mutator.below(45));
          if (mutator.below(50) == 0)
            event.index = static_cast<std::uint16_t>(mutator.below(1 << 16));
          if (mutator.below(50) == 0) event.begin_ns = INT64_MIN;
          if (mutator.below(50) == 0) event.value = mutator.below(2) == 0 ? NAN : -1e300;
        }
        take(telemetry::FrameType::events, rank,
             {reinterpret_cast<const char*>(events.data()), events.size() * sizeof events[0]});
      }
    for (const ChartKind kind : kChartKinds) {
      const std::vector<LineSpec> lines = lines_of(kind, history, {}, {});
      for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 4); ++i) {
        LineReading reading(lines[i]);
        int rounds = 0;
        while (reading.read(history, true)) {
          ASSERT_LT(++rounds, 10'000) << chart_title(kind).name;
        }
      }
    }
  });
}

}  // namespace
}  // namespace trainyard::ui
