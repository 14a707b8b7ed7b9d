// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings that were damaged at random, and recordings whose frames are sound but say random
// things: no reader may crash or hang. The sanitizers make this test sharp.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "core/base/json.h"
#include "core/telemetry/export_csv.h"
#include "core/telemetry/export_trace.h"
#include "core/telemetry/recording_summary.h"
#include "core/telemetry/summary.h"
#include "tests/core/telemetry/support.h"

namespace trainyard::telemetry {
namespace {

class Fuzzer {
 public:
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(generator_);
  }

  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  std::string mutate(std::string bytes) {
    for (std::size_t times = 1 + below(3); times > 0; --times) {
      const std::size_t at = below(bytes.size()),
                        length = below(std::min<std::size_t>(bytes.size() - at, 60)) + 1;
      switch (below(5)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes.resize(at + 1); break;
        case 2: bytes.erase(at, length == bytes.size() ? length - 1 : length); break;
        case 3: bytes.insert(at, noise(length)); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), length)); break;
      }
    }
    return bytes;
  }

  // Any frame, with checksums that match.
  std::string frame() {
    static const std::vector<std::string> texts = {
        R"({"schema":1,"ranks":2,"segments":["a",3,null]})",
        R"({"ranks":65536,"segments":{"x":[]}})",
        R"({"time_ns":9223372036854775807,"level":3,"text":[1]})",
        R"({"time_ns":-9223372036854775808,"state":"x"})",
        R"([])",
        R"({"time_ns":1e300,"text":"\ud834\udd1e"})"};
    const auto type = static_cast<std::uint32_t>(below(10));
    const int rank = static_cast<int>(below(4)) - 1;
    if (type == 3) return frame_bytes(type, rank, events());
    return frame_bytes(type, rank, below(3) == 0 ? noise(below(80)) : texts[below(texts.size())]);
  }

 private:
  std::string events() {
    std::string bytes = noise(48 * below(6) + (below(8) == 0 ? 1 : 0));
    for (std::size_t event = 0; event + 48 <= bytes.size(); event += 48) {
      if (below(10) != 0)
        bytes[event + 40] = static_cast<char>(1 + below(2));  // a kind that exists
      if (below(4) != 0)
        bytes[event + 36] = static_cast<char>(below(25)),
                      bytes[event + 37] = 0;  // a metric that may exist
    }
    return bytes;
  }

  std::mt19937_64 generator_{20240607};
};

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
  const auto history = History::load(directory.path());
  if (!history) return;
  static_cast<void>(summarize(*history));
  ASSERT_TRUE(export_csv(*history, table));
}

TEST(Fuzz, of_damaged_recordings_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const std::string sound = file_bytes(directory.recording());
  Fuzzer fuzzer;
  for (int i = 0; i < 3000; ++i) {
    write_bytes(directory.recording(), fuzzer.mutate(sound));
    ASSERT_NO_FATAL_FAILURE(use(directory)) << i;
  }
}

TEST(Fuzz, of_frames_with_any_content_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  Fuzzer fuzzer;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = frame_bytes(1, -1, R"({"schema":1,"ranks":2})");
    for (std::size_t frames = fuzzer.below(12); frames > 0; --frames) bytes += fuzzer.frame();
    write_bytes(directory.recording(), bytes);
    ASSERT_NO_FATAL_FAILURE(use(directory)) << i;
  }
}

// An index whose checksums match may still point anywhere.
TEST(Fuzz, of_a_wrong_index_never_crashes_a_reader) {
  const TemporaryDirectory directory;
  const std::string start = frame_bytes(1, -1, R"({"schema":1,"ranks":1})");
  Fuzzer fuzzer;
  for (int i = 0; i < 500; ++i) {
    std::string payload = fuzzer.noise(16 * fuzzer.below(4));
    for (std::size_t entry = 0; entry + 16 <= payload.size(); entry += 16) {
      if (fuzzer.below(2) == 0)
        payload.replace(
            entry, 8, std::string(1, static_cast<char>(fuzzer.below(100))) + std::string(7, '\0'));
      payload.replace(entry + 8, 4,
                      std::string(1, static_cast<char>(fuzzer.below(9))) + std::string(3, '\0'));
    }
    std::uint64_t own_offset = fuzzer.below(4) == 0 ? fuzzer.below(200) : start.size();
    payload.append(reinterpret_cast<const char*>(&own_offset), sizeof own_offset);
    write_bytes(directory.recording(), start + frame_bytes(8, -1, payload));
    ASSERT_NO_FATAL_FAILURE(use(directory)) << i;
  }
}

}  // namespace
}  // namespace trainyard::telemetry
