// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings of long runs: within their limit, exact where a result depends on them, and readable
// while they grow.
#include "core/telemetry/bounded_recording.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "core/base/json.h"
#include "core/telemetry/history.h"
#include "core/telemetry/packed_metrics.h"
#include "core/telemetry/series_block.h"
#include "core/telemetry/summary.h"
#include "tests/core/telemetry/support.h"

namespace trainyard::telemetry {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

constexpr int kRanks = 2, kOps = 30;
constexpr std::int64_t kLimit = 4'000'000;

Event metric_at(Metric metric, int step, double value, int index = 0) {
  return telemetry::metric(metric, step, value, step * 1e-3, index);
}

// Loss of a rank at a step; a number with all its digits.
double loss_at(int rank, int step) { return 1.0 / (3.0 + step) + 0.1 * rank; }

std::vector<Event> events_of_step(int rank, int step) {
  std::vector<Event> events;
  for (int i = 0; i < kOps; ++i) {
    const std::int64_t at = step * 1'000'000LL + i * 10'000LL;
    events.push_back(op(0, i, step, at, at, at + 9'000, 8));
  }
  // The longest step of all is between two recorded ones.
  events.push_back(metric_at(Metric::step_seconds, step, step == 7'777 ? 0.5 : 1e-3));
  // The rank's process is replaced once, so its counter starts again.
  const int counted = step < 5'000 ? step + 1 : step - 4'999;
  events.push_back(metric_at(Metric::sent_payload_bytes, step, 8.0 * counted, 1 - rank));
  events.push_back(metric_at(Metric::loss_sum, step, loss_at(rank, step)));
  events.push_back(metric_at(Metric::samples, step, 1));
  events.push_back(metric_at(Metric::reduced_gradient_norm, step, std::sin(step)));
  return events;
}

class LongRun : public testing::Test {
 protected:
  void open(std::int64_t limit_bytes, std::int64_t steps) {
    auto made =
        BoundedRecording::create(directory_.path(), small_header(kRanks), {limit_bytes, steps});
    ASSERT_TRUE(made) << base::to_string(made.error());
    recording_.emplace(std::move(*made));
  }
  void run(int from, int to) {
    for (int step = from; step < to; ++step)
      for (int rank = 0; rank < kRanks; ++rank)
        ASSERT_TRUE(recording_->append_events(rank, events_of_step(rank, step)));
  }
  void finish() {
    const std::string result = R"({"type": "result", "status": "completed"})";
    ASSERT_TRUE(recording_->append(FrameType::result, -1, std::as_bytes(std::span(result))));
    ASSERT_TRUE(recording_->close());
  }
  std::uintmax_t size() const {
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
      bytes += file.file_size();
    return bytes;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
      names.push_back(file.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  void remove_recent_files() {
    for (const std::string& name : files())
      if (name != kRecordingFile) std::filesystem::remove(directory_.path() / name);
  }
  History load() const {
    auto history = History::load(directory_.path());
    EXPECT_TRUE(history) << base::to_string(history.error());
    EXPECT_EQ(history->damage(), "");
    return std::move(*history);
  }

  TemporaryDirectory directory_;
  std::optional<BoundedRecording> recording_;
};

std::set<int> steps_with_ops(const History& history) {
  std::set<int> steps;
  for (const OpRecord& op : history.ops()) steps.insert(op.step);
  return steps;
}

void expect_every_loss(const History& history, int steps) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const Series* series = history.find({Metric::loss_sum, rank, 0});
    ASSERT_NE(series, nullptr);
    ASSERT_THAT(series->values, SizeIs(steps)) << "rank " << rank;
    for (int step = 0; step < steps; ++step) {
      ASSERT_EQ(series->steps[static_cast<std::size_t>(step)], step);
      ASSERT_EQ(series->values[static_cast<std::size_t>(step)], loss_at(rank, step));
    }
  }
  EXPECT_THAT(history.train_loss(), SizeIs(steps));
}

void expect_exact_totals(const History& history, int steps) {
  const Summary summary = summarize(history);
  EXPECT_EQ(summary.steps, steps);
  EXPECT_EQ(summary.samples, kRanks * steps);
  for (const RankSummary& rank : summary.ranks) {
    EXPECT_EQ(rank.sent_payload_before, 8.0 * 5'000);
    EXPECT_EQ(rank.sent_payload_bytes, 8.0 * steps);
  }
}

TEST_F(LongRun, that_fits_into_the_limit_is_recorded_completely) {
  open(kLimit, 100);
  run(0, 100);
  finish();
  EXPECT_THAT(files(), ElementsAre(kRecordingFile));
  const History history = load();
  expect_every_loss(history, 100);
  EXPECT_THAT(history.ops(), SizeIs(100 * kRanks * kOps));
  EXPECT_LT(history.thinning().from_step, 0);
}

TEST_F(LongRun, that_is_predicted_to_fit_is_recorded_completely) {
  constexpr int kSteps = 900;
  open(0, kSteps);
  run(0, kSteps);
  finish();
  const auto complete = static_cast<std::int64_t>(size());
  for (const double part : {0.8, 0.95}) {
    const auto limit = static_cast<std::int64_t>(static_cast<double>(complete) / part);
    ASSERT_GT(complete, RecordingLimit({limit, kSteps}).full_bytes());
    remove_recent_files();
    std::filesystem::remove(directory_.path() / kRecordingFile);
    open(limit, kSteps);
    run(0, kSteps);
    finish();
    EXPECT_EQ(load().thinning().from_step < 0, part < 0.875) << part;
    EXPECT_LE(size(), static_cast<std::uintmax_t>(limit)) << part;
  }
}

TEST_F(LongRun, that_needs_more_than_predicted_stays_within_its_limit) {
  constexpr int kSteps = 4'000;
  open(kLimit, kSteps);
  for (int step = 0; step < 2'000; step += 8) run(step, step + 1);  // few steps are reported
  run(2'000, kSteps);
  finish();
  const History history = load();
  EXPECT_GT(history.thinning().from_step, 2'000);
  EXPECT_LE(size(), static_cast<std::uintmax_t>(kLimit));
}

TEST_F(LongRun, without_a_limit_is_recorded_completely) {
  open(0, 2'000);
  run(0, 2'000);
  finish();
  EXPECT_THAT(files(), ElementsAre(kRecordingFile));
  EXPECT_THAT(load().ops(), SizeIs(2'000 * kRanks * kOps));
}

TEST_F(LongRun, stays_within_its_limit) {
  constexpr int kSteps = 40'000;
  open(kLimit, kSteps);
  run(0, kSteps);
  finish();
  EXPECT_LE(size(), static_cast<std::uintmax_t>(kLimit));
  EXPECT_THAT(files(), SizeIs(3)) << "the recording, and two files with its last part";
}

TEST_F(LongRun, has_every_loss_exactly_and_exact_totals) {
  constexpr int kSteps = 20'000;
  open(kLimit, kSteps);
  run(0, kSteps);
  finish();
  const History history = load();
  expect_every_loss(history, kSteps);
  expect_exact_totals(history, kSteps);
  EXPECT_GT(history.thinned_until(), history.thinning().from_step);
  EXPECT_LT(history.thinned_until(), kSteps - 50) << "the last steps are complete";
}

TEST_F(LongRun, has_every_loss_exactly_without_the_files_of_recent_events) {
  constexpr int kSteps = 20'000;
  open(kLimit, kSteps);
  run(0, kSteps);
  finish();
  remove_recent_files();
  const History history = load();
  expect_every_loss(history, kSteps);
  expect_exact_totals(history, kSteps);
  EXPECT_EQ(history.thinned_until(), kSteps - 1);
}

TEST_F(LongRun, keeps_extremes_of_summarized_metrics) {
  open(kLimit, 20'000);
  run(0, 20'000);
  finish();
  const History history = load();
  ASSERT_GT(history.thinned_until(), 7'777);
  const Series& seconds = *history.find({Metric::step_seconds, 0, 0});
  EXPECT_LT(seconds.values.size(), 10'000u);
  EXPECT_EQ(seconds.totals.count, 20'000u);
  EXPECT_EQ(seconds.totals.greatest, 0.5);
  const auto at = std::ranges::find(seconds.values, 0.5);
  ASSERT_NE(at, seconds.values.end());
  EXPECT_EQ(seconds.steps[static_cast<std::size_t>(at - seconds.values.begin())], 7'777);
}

TEST_F(LongRun, has_ops_of_the_first_steps_of_some_steps_and_of_the_last_steps) {
  open(kLimit, 20'000);
  run(0, 20'000);
  finish();
  const History history = load();
  const std::set<int> steps = steps_with_ops(history);
  const int first_thinned = static_cast<int>(history.thinning().from_step);
  const auto has_all = [&](int from, int to) {
    for (int step = from; step < to; ++step)
      if (!steps.contains(step)) return false;
    return true;
  };
  EXPECT_TRUE(has_all(0, first_thinned));
  EXPECT_TRUE(has_all(history.thinned_until() + 1, 20'000));
  const auto between =
      std::distance(steps.lower_bound(first_thinned), steps.upper_bound(history.thinned_until()));
  EXPECT_GE(between, 5);
  EXPECT_LE(between, 20'000 / 64);
  EXPECT_EQ(history.thinning().dropped_ops, 20'000 * kRanks * kOps - std::ssize(history.ops()));
}

TEST_F(LongRun, has_ops_around_a_fault) {
  open(kLimit, 20'000);
  run(0, 9'000);
  ASSERT_TRUE(recording_->keep_ops_around_now());
  run(9'000, 20'000);
  finish();
  const History history = load();
  ASSERT_GT(history.thinned_until(), 9'010);
  const std::set<int> steps = steps_with_ops(history);
  for (int step = 9'000 - BoundedRecording::kStepsAroundFault;
       step < 9'000 + BoundedRecording::kStepsAroundFault; ++step)
    EXPECT_TRUE(steps.contains(step)) << step;
}

TEST_F(LongRun, has_ops_of_single_steps) {
  open(kLimit, 20'000);
  run(0, 9'001);
  recording_->keep_ops(true);
  run(9'001, 9'003);
  recording_->keep_ops(false);
  run(9'003, 20'000);
  finish();
  const History history = load();
  ASSERT_GT(history.thinned_until(), 9'010);
  const std::set<int> steps = steps_with_ops(history);
  EXPECT_TRUE(steps.contains(9'001) && steps.contains(9'002));
  EXPECT_FALSE(steps.contains(9'004));
}

// Reads a recording while it is written, `every` steps apart.
class Following : public LongRun, public testing::WithParamInterface<int> {};

TEST_P(Following, reader_gets_every_loss_once) {
  constexpr int kSteps = 15'000;
  open(kLimit, kSteps);
  ASSERT_TRUE(recording_->flush());
  auto reader = RecordingReader::open(directory_.recording());
  ASSERT_TRUE(reader);
  History history;
  const auto read = [&] {
    for (;;) {
      const auto frame = reader->next();
      ASSERT_TRUE(frame) << base::to_string(frame.error());
      if (!*frame) return;
      ASSERT_TRUE(history.take(**frame));
    }
  };
  for (int step = 0; step < kSteps; step += GetParam()) {
    run(step, std::min(step + GetParam(), kSteps));
    ASSERT_TRUE(recording_->flush());
    read();
  }
  finish();
  read();
  expect_every_loss(history, kSteps);
  expect_exact_totals(history, kSteps);
  EXPECT_TRUE(history.recorded_result());
  if (GetParam() < 100) {
    EXPECT_EQ(history.thinned_until(), -1) << "a reader that keeps up sees everything";
  } else {
    EXPECT_GT(history.thinned_until(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, Following, testing::Values(50, 700, 3'000));

TEST_F(LongRun, takes_events_of_many_steps_at_once) {
  open(kLimit, 20'000);
  for (int first = 0; first < 20'000; first += 10)
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<Event> events;
      for (int step = first; step < first + 10; ++step)
        for (const Event& event : events_of_step(rank, step)) events.push_back(event);
      ASSERT_TRUE(recording_->append_events(rank, events));
    }
  ASSERT_TRUE(recording_->keep_ops_around_now());
  finish();
  expect_every_loss(load(), 20'000);
}

TEST_F(LongRun, is_kept_if_its_directory_is_removed) {
  open(kLimit, 20'000);
  run(0, 10'000);
  std::filesystem::remove_all(directory_.path());
  run(10'000, 15'000);
  EXPECT_FALSE(recording_->restore_if_removed()) << "it reports the removal";
  run(15'000, 20'000);
  finish();
  const History history = load();
  expect_every_loss(history, 20'000);
  expect_exact_totals(history, 20'000);
  EXPECT_LE(files().size(), 3u);
}

TEST_F(LongRun, has_complete_parts_on_disk_whenever_its_process_is_killed) {
  open(kLimit, 20'000);
  for (int step = 0; step < 12'000; step += 37) {
    run(step, std::min(step + 37, 12'000));
    if (step % 5 != 0) continue;
    // A process that is killed here leaves the files as they are on disk.
    const auto history = History::load(directory_.path());
    ASSERT_TRUE(history);
    const Series* losses = history->find({Metric::loss_sum, 0, 0});
    if (losses == nullptr) continue;
    for (std::size_t i = 0; i < losses->steps.size(); ++i)
      ASSERT_EQ(losses->steps[i], static_cast<int>(i)) << "after step " << step;
  }
}

TEST_F(LongRun, has_ops_of_a_slow_rank_around_a_fault) {
  open(kLimit, 20'000);
  run(0, 6'000);
  // Rank 1 is 3,000 steps ahead of rank 0 when the fault happens.
  for (int step = 6'000; step < 9'000; ++step)
    ASSERT_TRUE(recording_->append_events(1, events_of_step(1, step)));
  ASSERT_TRUE(recording_->keep_ops_around_now());
  for (int step = 6'000; step < 20'000; ++step)
    for (int rank = 0; rank < kRanks; ++rank)
      if (rank == 0 || step >= 9'000) {
        ASSERT_TRUE(recording_->append_events(rank, events_of_step(rank, step)));
      }
  finish();
  const History history = load();
  std::map<int, std::set<int>> steps;
  for (const OpRecord& op : history.ops()) steps[op.rank].insert(op.step);
  for (int step = 5'998; step < 6'002; ++step) EXPECT_TRUE(steps[0].contains(step)) << step;
  for (int step = 8'998; step < 9'002; ++step) EXPECT_TRUE(steps[1].contains(step)) << step;
  EXPECT_FALSE(steps[0].contains(8'998) && steps[0].contains(8'999) && steps[0].contains(9'000));
}

TEST_F(LongRun, in_which_a_mark_leads_back_is_read_once) {
  open(kLimit, 3'000);
  run(0, 1'500);
  finish();
  // A file of recent events that names itself as its successor.
  const auto path = directory_.path() / recent_file(1);
  std::filesystem::remove(path);
  auto writer = RecordingWriter::create(path, small_header());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append_json(FrameType::recent, -1, {{"number", 1}}));
  ASSERT_TRUE(writer->close());
  auto reader = RecordingReader::open(directory_.recording());
  ASSERT_TRUE(reader);
  std::size_t frames = 0;
  for (auto frame = reader->next(); frame && *frame; frame = reader->next())
    ASSERT_LT(++frames, 100'000u);
  EXPECT_GT(frames, 0u);
}

TEST(BoundedHistory, keeps_recent_values_extremes_and_totals) {
  History all, bounded(500);
  for (History* history : {&all, &bounded}) {
    take_json(*history, FrameType::header, -1, small_header(kRanks));
    for (int step = 0; step < 20'000; ++step)
      for (int rank = 0; rank < kRanks; ++rank)
        take_events(*history, rank, events_of_step(rank, step));
  }
  for (const auto& [key, series] : bounded.series()) {
    const Series& complete = *all.find(key);
    ASSERT_LE(series.values.size(), 1'000u);
    EXPECT_EQ(series.values.size() + series.removed(), complete.values.size());
    EXPECT_EQ(std::ranges::min(series.values), std::ranges::min(complete.values));
    EXPECT_EQ(std::ranges::max(series.values), std::ranges::max(complete.values));
    EXPECT_EQ(series.values.front(), complete.values.front());
    EXPECT_TRUE(
        std::equal(series.values.end() - 500, series.values.end(), complete.values.end() - 500));
    EXPECT_TRUE(std::ranges::is_sorted(series.steps));
  }
  const Summary expected = summarize(all), got = summarize(bounded);
  EXPECT_EQ(got.steps, expected.steps);
  EXPECT_EQ(got.samples, expected.samples);
  EXPECT_EQ(got.train_loss, expected.train_loss);
  EXPECT_EQ(got.step_seconds->p95, expected.step_seconds->p95);
  EXPECT_EQ(got.samples_per_second, expected.samples_per_second);
  EXPECT_EQ(got.ranks[1].sent_payload_bytes, expected.ranks[1].sent_payload_bytes);
}

TEST(BoundedHistory, ignores_summaries_of_metrics_that_are_never_summarized) {
  History history(600);
  take_json(history, FrameType::header, -1, small_header(kRanks));
  std::vector<SeriesBlock> blocks(3);
  for (SeriesBlock& block : blocks) {
    block.metric = static_cast<std::uint16_t>(Metric::samples);
    for (int step = 0; step < 4; ++step) block.add(metric_at(Metric::samples, step, step % 3));
  }
  blocks[1].metric = static_cast<std::uint16_t>(Metric::staleness);
  blocks[2].metric = static_cast<std::uint16_t>(Metric::memory_bytes);
  blocks[2].rank = kRanks;
  const auto payload = pack_blocks(blocks);
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(history.take({FrameType::blocks, -1, payload}));
    take_events(history, 0, {metric_at(Metric::samples, i, 1)});
  }
  EXPECT_EQ(summarize(history).samples, 600);
  EXPECT_THAT(history.series(), SizeIs(1));
  EXPECT_NE(history.damage(), "");
}

TEST(ReadPosition, reads_values_with_equal_and_decreasing_times_once) {
  StepValues values;
  values.set_limit(100);
  ReadPosition position;
  std::vector<int> read;
  for (int step = 0; step < 1'000; ++step) {
    values.push_back({step, step % 10 == 0 ? 5.0 : 1.0 * (step / 4), std::sin(step)});
    if (step % 30 != 29) continue;
    for (std::size_t i = position.next(values); i < values.size(); ++i) {
      read.push_back(values[i].step);
      position.read(values, i);
    }
  }
  for (std::size_t i = position.next(values); i < values.size(); ++i)
    read.push_back(values[i].step);
  ASSERT_THAT(read, SizeIs(1'000));
  for (int step = 0; step < 1'000; ++step) ASSERT_EQ(read[static_cast<std::size_t>(step)], step);
}

TEST(PackedMetrics, return_the_events_that_were_packed) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<RankEvent> events;
  for (int step = -1; step < 300; ++step)
    for (const int rank : {0, 3}) {
      events.push_back({rank, metric_at(Metric::loss_sum, step, loss_at(rank, step))});
      events.push_back({rank, metric_at(Metric::reduced_gradient_norm, step, std::cos(step), 2)});
      if (step % 7 == 0) events.push_back({rank, metric_at(Metric::samples, step, kNaN)});
    }
  events.push_back({0, metric_at(Metric::loss_sum, 5, -0.0)});  // An earlier step again.
  const auto payload = pack_metrics(events);
  EXPECT_LT(payload.size(), events.size() * sizeof(Event) / 5);
  const auto unpacked = unpack_metrics(payload);
  ASSERT_TRUE(unpacked);
  ASSERT_EQ(unpacked->size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ((*unpacked)[i].rank, events[i].rank);
    EXPECT_EQ(std::memcmp(&(*unpacked)[i].event, &events[i].event, sizeof(Event)), 0) << i;
  }
}

TEST(PackedMetrics, store_values_that_are_equal_on_all_ranks_once) {
  const auto packed_size = [](int ranks) {
    std::vector<RankEvent> events;
    for (int step = 0; step < 1'000; ++step)
      for (int rank = 0; rank < ranks; ++rank)
        events.push_back(
            {rank, telemetry::metric(Metric::reduced_gradient_norm, step, std::sin(step), 0)});
    return pack_metrics(events).size();
  };
  EXPECT_LT(packed_size(8), packed_size(1) * 6 / 5);
}

TEST(PackedMetrics, of_no_events_are_empty) {
  const auto unpacked = unpack_metrics(pack_metrics({}));
  ASSERT_TRUE(unpacked);
  EXPECT_THAT(*unpacked, IsEmpty());
}

TEST(PackedMetrics, that_are_damaged_anywhere_are_refused_or_unchanged) {
  std::vector<RankEvent> events;
  for (int step = 0; step < 50; ++step)
    events.push_back({step % 3, metric_at(Metric::loss_sum, step, loss_at(0, step))});
  const auto payload = pack_metrics(events);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < payload.size(); ++at) {
    EXPECT_FALSE(unpack_metrics(std::span(payload).first(at)));
    for (const int flipped : {1, 128, 255}) {
      auto damaged = payload;
      damaged[at] ^= static_cast<std::byte>(flipped);
      const auto unpacked = unpack_metrics(damaged);
      // Some bits of a zlib stream have no meaning.
      if (unpacked) EXPECT_EQ(pack_metrics(*unpacked), payload);
      else ++refused;
    }
  }
  EXPECT_GT(refused, 3 * payload.size() - 20);
}

TEST(SeriesBlock, has_exact_totals_and_distinct_points) {
  SeriesBlock block;
  for (const auto& [step, value] : {std::pair(3, 5.0), {4, 9.0}, {5, 2.0}, {6, 4.0}})
    block.add(metric_at(Metric::sent_payload_bytes, step, value));
  EXPECT_EQ(block.count, 4u);
  EXPECT_EQ(block.sum, 20);
  EXPECT_EQ(block.before_resets, 9);
  std::vector<int> steps;
  for (const LoggedValue& point : block.points()) steps.push_back(point.step);
  EXPECT_THAT(steps, ElementsAre(3, 4, 5, 6));
  SeriesBlock constant;
  constant.add(metric_at(Metric::samples, 1, 7));
  EXPECT_THAT(constant.points(), SizeIs(1));
}

TEST(SeriesBlock, never_hides_a_value_that_is_not_finite) {
  SeriesBlock block;
  for (const double value : {1.0, std::numeric_limits<double>::quiet_NaN(), 1e300, 2.0})
    block.add(metric_at(Metric::update_ratio, 1, value));
  EXPECT_TRUE(std::isnan(block.greatest.value));
  SeriesTotals totals;
  totals.add(block);
  EXPECT_TRUE(std::isnan(totals.greatest));
}

TEST(SeriesBlock, survives_packing) {
  std::vector<SeriesBlock> blocks(3);
  for (int i = 0; i < 3; ++i) {
    blocks[static_cast<std::size_t>(i)].rank = i;
    blocks[static_cast<std::size_t>(i)].add(metric_at(Metric::averages, i, 0.5 * i));
  }
  const auto unpacked = unpack_blocks(pack_blocks(blocks));
  ASSERT_TRUE(unpacked);
  ASSERT_EQ(unpacked->size(), 3u);
  EXPECT_EQ(std::memcmp(unpacked->data(), blocks.data(), 3 * sizeof(SeriesBlock)), 0);
}

}  // namespace
}  // namespace trainyard::telemetry
