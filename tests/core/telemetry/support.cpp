// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/telemetry/support.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "core/base/json.h"

namespace trainyard::telemetry {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name =
      (std::filesystem::temp_directory_path() / "trainyard-telemetry-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

FrameCopy copy_of(const Frame& frame) {
  return {frame.type, frame.rank,
          std::string(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size())};
}

Read read_all(RecordingReader& reader) {
  Read read;
  for (;;) {
    const auto frame = reader.next();
    if (!frame) read.problem = base::to_string(frame.error());
    if (!frame || !*frame) return read;
    read.frames.push_back(copy_of(**frame));
  }
}

Read read_all(const std::filesystem::path& path) {
  auto reader = RecordingReader::open(path);
  return reader ? read_all(*reader) : Read{{}, base::to_string(reader.error())};
}

std::string file_bytes(const std::filesystem::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// A new file each time: to truncate one makes some file systems write the old one out first.
void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);
  append_bytes(path, bytes);
}

void append_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

base::Json small_header(int ranks) {
  return {
      {"software", "0.1.0"}, {"run", "r1"}, {"ranks", ranks}, {"segments", {"linear1", "linear2"}}};
}

Event metric(Metric metric, int step, double value, double at_seconds, int index) {
  const auto at = static_cast<std::int64_t>(std::llround(at_seconds * 1e9));
  return {at,
          at,
          at,
          value,
          step,
          static_cast<std::uint16_t>(metric),
          static_cast<std::uint16_t>(index),
          EventKind::metric,
          {}};
}

Event op(int program, int number, int step, std::int64_t begin_ns, std::int64_t ready_ns,
         std::int64_t end_ns, double bytes) {
  return {begin_ns,
          ready_ns,
          end_ns,
          bytes,
          step,
          static_cast<std::uint16_t>(number),
          static_cast<std::uint16_t>(program),
          EventKind::op,
          {}};
}

void write_small_recording(const std::filesystem::path& path) {
  auto writer = RecordingWriter::create(path, small_header());
  ASSERT_TRUE(writer) << base::to_string(writer.error());
  const auto ok = [](const base::Result<void>& result) {
    ASSERT_TRUE(result) << base::to_string(result.error());
  };
  ok(writer->append(FrameType::plan, 0, bytes_of("program train\n")));
  ok(writer->append_json(FrameType::log, 1,
                         {{"level", "info"}, {"time_ns", 5}, {"text", "ready"}}));
  ok(writer->append_events(
      0, std::vector{op(0, 0, 0, 10, 20, 30, 64), metric(Metric::loss_sum, 0, 4, 1e-7),
                     metric(Metric::samples, 0, 2, 1e-7)}));
  ok(writer->append_events(
      1, std::vector{metric(Metric::loss_sum, 0, 2, 1e-7), metric(Metric::samples, 0, 2, 1e-7)}));
  ok(writer->append(FrameType::samples, 1, {}));
  ok(writer->append_json(FrameType::state, -1, {{"state", "finished"}, {"time_ns", 40}}));
  ok(writer->append_json(FrameType::result, -1, {{"type", "result"}, {"status", "completed"}}));
  ok(writer->close());
}

void take_events(History& history, int rank, const std::vector<Event>& events) {
  const auto taken = history.take({FrameType::events, rank, std::as_bytes(std::span(events))});
  ASSERT_TRUE(taken) << base::to_string(taken.error());
}

void take_json(History& history, FrameType type, int rank, const base::Json& json) {
  const std::string text = json.dump();
  const auto taken = history.take({type, rank, bytes_of(text)});
  ASSERT_TRUE(taken) << base::to_string(taken.error());
}

}  // namespace trainyard::telemetry
