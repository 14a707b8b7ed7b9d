// SPDX-License-Identifier: GPL-3.0-or-later
// Small recordings and histories, from literals.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/telemetry/history.h"
#include "core/telemetry/recording.h"
#include "tests/frames.h"

namespace trainyard::telemetry {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path recording() const { return path_ / kRecordingFile; }

 private:
  std::filesystem::path path_;
};

// A frame that owns its bytes, to compare.
struct FrameCopy {
  FrameType type{};
  int rank = -1;
  std::string payload;
  bool operator==(const FrameCopy&) const = default;
};
FrameCopy copy_of(const Frame& frame);

// All frames from the reader's cursor on, up to where nothing more is (yet) or to damage.
struct Read {
  std::vector<FrameCopy> frames;
  std::string problem;  // "" when the end was reached
};
Read read_all(RecordingReader& reader);
Read read_all(const std::filesystem::path& path);  // `problem` also when it does not open

std::string file_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, std::string_view bytes);  // a new file
void append_bytes(const std::filesystem::path& path, std::string_view bytes);

base::Json small_header(int ranks = 2);
Event metric(Metric metric, int step, double value, double at_seconds, int index = 0);
Event op(int program, int number, int step, std::int64_t begin_ns, std::int64_t ready_ns,
         std::int64_t end_ns, double bytes = 0);

// A closed recording of two ranks with a frame of every kind.
void write_small_recording(const std::filesystem::path& path);

void take_events(History& history, int rank, const std::vector<Event>& events);
void take_json(History& history, FrameType type, int rank, const base::Json& json);

}  // namespace trainyard::telemetry
