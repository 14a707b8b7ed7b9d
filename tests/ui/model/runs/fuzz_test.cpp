// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings whose JSON and events were changed at random, with checksums that match: no reader of
// the workbench may crash or hang.
#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <fstream>
#include <span>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "tests/frames.h"
#include "tests/fuzzing.h"
#include "tests/ui/recorded_ops.h"
#include "ui/model/runs/failure.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/runs/run_directory.h"
#include "ui/model/spans/span_store.h"
#include "ui/model/spans/traffic_meter.h"

namespace trainyard::ui {
namespace {

using telemetry::FrameType;

experiment::Experiment example(const std::string& name) {
  return *experiment::load(TRAINYARD_SOURCE_DIR "/resources/experiments/" + name + ".json");
}

base::Json header_of(const experiment::Experiment& experiment) {
  return {{"schema", 1},
          {"ranks", 4},
          {"segments", base::Json::array({"0", "1"})},
          {"cores", 2},
          {"buffer_bytes", base::Json::array({base::Json::array({1, 2})})},
          {"experiment", to_json(*experiment::resolve(experiment, "/"))}};
}

const base::Json kState{
    {"state", "failed"},
    {"time_ns", 5},
    {"step", 7},
    {"seconds_per_step", 0.5},
    {"problem", {{"code", "failed"}, {"where", "rank 1"}, {"what", "died"}}},
    {"fault", {{"kind", "lost"}, {"rank", 1}, {"step", 7}, {"text", "signal 9"}}}};
const base::Json kResult{{"type", "result"},
                         {"status", "failed"},
                         {"steps", 7},
                         {"wall_seconds", 1.5},
                         {"held_out_accuracy", 0.75},
                         {"committed_step", 5},
                         {"problem", {{"where", "rank 1"}, {"what", "died"}}}};

// Events of ranks, programs, ops and steps that may not exist.
std::string ops(fuzzing::Mutator& mutator) {
  std::string bytes;
  for (std::size_t events = mutator.below(20); events > 0; --events) {
    telemetry::Event event;
    event.kind = telemetry::EventKind::op;
    event.begin_ns = static_cast<std::int64_t>(mutator.below(1000));
    event.ready_ns = mutator.below(5) == 0 ? INT64_MIN : event.begin_ns + 5;
    event.end_ns = mutator.below(5) == 0 ? INT64_MAX : event.begin_ns + 10;
    event.value = 64;
    event.step = static_cast<std::int32_t>(mutator.below(30)) - 1;
    event.subject = static_cast<std::uint16_t>(mutator.below(40));
    event.index = static_cast<std::uint16_t>(mutator.below(3));
    bytes += telemetry::raw_bytes(event);
  }
  return mutator.below(3) == 0 ? mutator.mutate(bytes + "x") : bytes;
}

class RecordingReaders {
 public:
  RecordingReaders(const std::string& name, const experiment::Experiment& experiment)
      : experiment_(experiment), header_(header_of(experiment)) {
    EXPECT_TRUE(directory_.isValid()) << name;
  }

  void use(fuzzing::Mutator& mutator) {
    const auto changed = [&](const base::Json& json) {
      return base::to_text(mutator.below(2) == 0 ? mutator.mutate(json) : json);
    };
    const std::tuple<FrameType, int, std::string> frames[] = {
        {FrameType::header, -1, changed(header_)},
        {FrameType::plan, 3,
         mutator.below(3) == 0 ? mutator.mutate(test::planned(3)) : test::planned(3)},
        {FrameType::events, 3, ops(mutator)},
        {FrameType::state, -1, changed(kState)},
        {FrameType::result, -1, changed(kResult)}};
    std::string bytes;
    telemetry::History history;
    SpanStore spans;
    TrafficMeter traffic;
    for (const auto& [type, rank, payload] : frames) {
      bytes += telemetry::frame_bytes(static_cast<std::uint32_t>(type), rank, payload);
      static_cast<void>(history.take({type, rank, std::as_bytes(std::span(payload))}));
      spans.read(history);
      traffic.read(history, spans);
    }
    read(history);
    read_directory(bytes);
  }

 private:
  void read(const telemetry::History& history) const {
    static_cast<void>(failure_of_run(history));
    static_cast<void>(recorded_topology(history));
    static_cast<void>(recorded_run(history));
    static_cast<void>(recorded_experiment(history));
    static_cast<void>(recorded_assignment(history));
    static_cast<void>(recorded_staleness_theory(history));
    static_cast<void>(trains_as_recorded(experiment_, "/", history));
  }

  void read_directory(const std::string& bytes) const {
    const QString path = directory_.filePath(telemetry::kRecordingFile);
    std::ofstream(path.toStdString(), std::ios::binary | std::ios::trunc) << bytes;
    const RunEntry entry = read_run(directory_.path());
    EXPECT_FALSE(entry.name.isEmpty());
    EXPECT_FALSE(entry.state.isEmpty());
    EXPECT_FALSE(run_name(directory_.path(), *entry.experiment).isEmpty());
  }

  QTemporaryDir directory_;
  experiment::Experiment experiment_;
  base::Json header_;
};

TEST(Fuzz, of_the_recording_of_a_mirrored_run_never_crashes_the_workbench) {
  RecordingReaders readers("mirrored", example("four_devices_mirrored_digits"));
  fuzzing::fuzz(80, [&](fuzzing::Mutator& mutator) { readers.use(mutator); });
}

TEST(Fuzz, of_the_recording_of_a_run_with_servers_never_crashes_the_workbench) {
  RecordingReaders readers("servers", example("four_workers_parameter_server_digits"));
  fuzzing::fuzz(40, [&](fuzzing::Mutator& mutator) { readers.use(mutator); });
}

// Found in a damaged recording: the number of classes divided by zero.
TEST(RecordedAssignment, is_empty_if_the_recording_lacks_the_number_of_classes) {
  experiment::Experiment skewed = example("four_devices_mirrored_digits");
  skewed.data.sharding.kind = data::ShardingKind::label_skew;
  base::Json header = header_of(skewed);
  header["experiment"]["data"].erase("classes");
  const std::string text = header.dump();
  telemetry::History history;
  ASSERT_TRUE(history.take({FrameType::header, -1, std::as_bytes(std::span(text))}));
  EXPECT_TRUE(recorded_assignment(history).empty());
  EXPECT_FALSE(trains_as_recorded(skewed, "/", history));
  EXPECT_FALSE(recorded_topology(history).hosts.empty()) << "the rest is still read";
}

}  // namespace
}  // namespace trainyard::ui
