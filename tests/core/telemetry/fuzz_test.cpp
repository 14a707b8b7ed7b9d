// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings that were damaged at random, and recordings whose frames have valid checksums but
// random content: no reader may crash or hang. Sanitizers find more faults in these tests.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <sstream>
#include <tuple>

#include "core/base/json.h"
#include "core/telemetry/export_csv.h"
#include "core/telemetry/export_trace.h"
#include "core/telemetry/packed_metrics.h"
#include "core/telemetry/recording_summary.h"
#include "core/telemetry/series_block.h"
#include "core/telemetry/staleness_counts.h"
#include "core/telemetry/summary.h"
#include "tests/core/telemetry/support.h"
#include "tests/fuzzing.h"

namespace trainyard::telemetry {
namespace {

// Frames with any content, and checksums that match.
class FrameMaker {
 public:
  explicit FrameMaker(fuzzing::Mutator& mutator) : mutator_(mutator) {}

  std::string frame() {
    static const std::vector<std::string> texts = {
        R"({"schema":1,"ranks":2,"segments":["a",3,null]})",
        R"({"ranks":65536,"segments":{"x":[]}})",
        R"({"time_ns":9223372036854775807,"level":3,"text":[1]})",
        R"({"time_ns":-9223372036854775808,"state":"x"})",
        R"([])",
        R"({"number":1})",
        R"({"number":-7,"from_step":1e18,"interval_steps":0})",
        R"({"number":2147483648,"from_step":3,"interval_steps":64,"dropped_ops":"x"})",
        R"({"time_ns":1e300,"text":"\ud834\udd1e"})"};
    const auto type = static_cast<std::uint32_t>(below(15));
    const int rank = static_cast<int>(below(4)) - 1;
    if (type == 10 && below(4) != 0) return frame_bytes(type, rank, metrics());
    if (type == 11 && below(4) != 0) return frame_bytes(type, rank, blocks());
    if (type == 3) return frame_bytes(type, rank, events());
    return frame_bytes(type, rank,
                       below(3) == 0 ? mutator_.noise(below(80)) : texts[below(texts.size())]);
  }

  // A table with a valid checksum, of events with any rank, metric, step and value.
  std::string metrics() {
    std::vector<RankEvent> table(below(20));
    for (RankEvent& one : table) {
      one.rank = below(8) == 0 ? INT32_MIN : static_cast<std::int32_t>(below(3));
      one.event.begin_ns = one.event.ready_ns = one.event.end_ns =
          below(8) == 0 ? INT64_MAX : static_cast<std::int64_t>(below(1000));
      one.event.step = step();
      one.event.subject = static_cast<std::uint16_t>(below(45));
      one.event.index = static_cast<std::uint16_t>(below(3));
      one.event.value = value();
    }
    return text_of(pack_metrics(table));
  }

  std::string blocks() {
    std::vector<SeriesBlock> list(below(5));
    for (SeriesBlock& block : list) {
      const std::string noise = mutator_.noise(sizeof block);
      std::memcpy(static_cast<void*>(&block), noise.data(), sizeof block);
      block.rank = static_cast<std::int32_t>(below(3));
      block.metric = static_cast<std::uint16_t>(below(45));
      if (below(2) != 0) block.last.step = step();
      if (below(2) != 0) block.least.value = value();
    }
    return text_of(pack_blocks(list));
  }

  std::string events() {
    std::string bytes = mutator_.noise(48 * below(6) + (below(8) == 0 ? 1 : 0));
    for (std::size_t event = 0; event + 48 <= bytes.size(); event += 48) {
      if (below(10) != 0)
        bytes[event + 40] = static_cast<char>(1 + below(2));  // a kind that exists
      if (below(4) != 0)
        bytes[event + 36] = static_cast<char>(below(45)),
                      bytes[event + 37] = 0;  // a metric that may exist
      bytes.replace(event + 32, 4, raw_bytes(step()));
    }
    return bytes;
  }

 private:
  static std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  double value() {
    constexpr double kValues[] = {0, -1, 1e308, 3.5};
    return below(5) == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : kValues[below(std::size(kValues))];
  }

  std::size_t below(std::size_t bound) { return mutator_.below(bound); }

  std::int32_t step() {
    constexpr std::int32_t kSteps[] = {-1, 0, INT32_MAX, INT32_MIN, INT32_MAX / 4};
    return below(4) == 0 ? kSteps[below(std::size(kSteps))] : static_cast<std::int32_t>(below(40));
  }

  fuzzing::Mutator& mutator_;
};

// Content of JSON frames with every key that a reader uses.
base::Json full_header() {
  return {{"schema", 1},
          {"software", "0.1.0"},
          {"run", "r1"},
          {"ranks", 2},
          {"segments", {"linear1", "linear2"}},
          {"started_unix_seconds", 1'700'000'000},
          {"cores", 4},
          {"reports_of_step", 1},
          {"reports_of_evaluation", 1},
          {"first_server", 1},
          {"steps_apart", 5},
          {"evaluator", 1},
          {"first_step", 3},
          {"lambda_2", 0.5},
          {"buffer_bytes", {{1, 2}, {3, 4}}},
          {"padding_bytes", {0, 8}}};
}

base::Json full_state() {
  return {{"state", "failed"},
          {"time_ns", 5'000},
          {"step", 7},
          {"horizon", 9},
          {"seconds_per_step", 0.5},
          {"problem", {{"id", "x"}, {"code", "canceled"}, {"where", "rank 1"}, {"what", "died"}}},
          {"fault", {{"kind", "lost"}, {"rank", 1}, {"step", 7}, {"text", "signal 9"}}}};
}

base::Json full_result() {
  return {{"type", "result"},
          {"status", "failed"},
          {"steps", 7},
          {"first_step", 3},
          {"wall_seconds", 1.5},
          {"samples_per_second", 100},
          {"train_loss", nullptr},
          {"held_out_accuracy", 0.75},
          {"simulated_step_seconds", 0.25},
          {"step_seconds", {{"median", 0.5}, {"p95", 0.75}}},
          {"committed_step", 5},
          {"diverged_step", 6},
          {"ranks", base::Json::array(
                        {base::Json{{"rank", 0}, {"sent_bytes", 8}, {"parameters_xxh64", "0"}}})},
          {"problem", {{"code", "failed"}, {"where", "rank 1"}, {"what", "died"}}}};
}

// Everything that reads a recording, on this one.
void use(const TemporaryDirectory& directory) {
  static_cast<void>(read_summary(directory.path()));
  if (auto reader = RecordingReader::open(directory.recording()))
    static_cast<void>(reader->jump_to_last(FrameType::events));
  std::ostringstream trace, table;
  static_cast<void>(export_trace(directory.path(), {{{{"train", {{"F", "compute"}}}}}}, trace));
  if (!trace.str().empty()) {
    ASSERT_TRUE(base::parse_json(trace.str(), "trace")) << trace.str();
  }
  History bounded(2);
  if (auto reader = RecordingReader::open(directory.recording()))
    for (auto frame = reader->next(); frame && *frame; frame = reader->next())
      static_cast<void>(bounded.take(**frame));
  static_cast<void>(summarize(bounded));
  const auto history = History::load(directory.path());
  if (!history) return;
  static_cast<void>(summarize(*history));
  StalenessCounts().read(*history);
  ASSERT_LE(history->ranks(), kMaxRanks);
  ASSERT_TRUE(export_csv(*history, table));
}

TEST(Fuzz, of_damaged_recordings_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const std::string sound = file_bytes(directory.recording());
  fuzzing::fuzz(3000, [&](fuzzing::Mutator& mutator) {
    write_bytes(directory.recording(), mutator.mutate(sound));
    use(directory);
  });
}

TEST(Fuzz, of_frames_with_any_content_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  fuzzing::fuzz(1000, [&](fuzzing::Mutator& mutator) {
    std::string bytes = frame_bytes(1, -1, R"({"schema":1,"ranks":2})");
    for (std::size_t frames = mutator.below(12); frames > 0; --frames)
      bytes += FrameMaker(mutator).frame();
    write_bytes(directory.recording(), bytes);
    use(directory);
  });
}

// Every value of the JSON of headers, states, results and log lines may have any type.
TEST(Fuzz, of_values_in_json_frames_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  const std::tuple<FrameType, int, base::Json> frames[] = {
      {FrameType::header, -1, full_header()},
      {FrameType::log, 1, {{"level", "info"}, {"time_ns", 5}, {"text", "ready"}}},
      {FrameType::state, -1, full_state()},
      {FrameType::header, -1, small_header()},
      {FrameType::result, -1, full_result()}};
  std::size_t read = 0, inputs = 0;
  fuzzing::fuzz(2000, [&](fuzzing::Mutator& mutator) {
    std::string bytes;
    for (const auto& [type, rank, json] : frames) {
      const base::Json changed = mutator.below(2) == 0 ? mutator.mutate(json) : json;
      bytes += frame_bytes(static_cast<std::uint32_t>(type), rank, base::to_text(changed));
      if (type == FrameType::header) bytes += frame_bytes(3, 0, FrameMaker(mutator).events());
    }
    write_bytes(directory.recording(), bytes);
    use(directory);
    ++inputs;
    if (const auto history = History::load(directory.path()))
      read += history->recorded_result().has_value() ? 1 : 0;
  });
  EXPECT_GT(read, inputs / 4) << "a damaged value does not hide the other frames";
}

// An index whose checksums match may still point anywhere.
TEST(Fuzz, of_a_wrong_index_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  const std::string start = frame_bytes(1, -1, R"({"schema":1,"ranks":1})");
  fuzzing::fuzz(500, [&](fuzzing::Mutator& mutator) {
    std::string payload = mutator.noise(16 * mutator.below(4));
    for (std::size_t entry = 0; entry + 16 <= payload.size(); entry += 16) {
      if (mutator.below(2) == 0)
        payload.replace(
            entry, 8, std::string(1, static_cast<char>(mutator.below(100))) + std::string(7, '\0'));
      payload.replace(entry + 8, 4,
                      std::string(1, static_cast<char>(mutator.below(9))) + std::string(3, '\0'));
    }
    const std::uint64_t own_offset = mutator.below(4) == 0 ? mutator.below(200) : start.size();
    payload += raw_bytes(own_offset);
    write_bytes(directory.recording(), start + frame_bytes(8, -1, payload));
    use(directory);
  });
}

}  // namespace
}  // namespace trainyard::telemetry
