// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings of runs from literals, in a directory of the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/telemetry/recording.h"

namespace trainyard::session {

inline telemetry::Event metric_event(telemetry::Metric metric, int step, double value,
                                     int index = 0) {
  telemetry::Event event;
  event.value = value;
  event.step = step;
  event.subject = static_cast<std::uint16_t>(metric);
  event.index = static_cast<std::uint16_t>(index);
  event.kind = telemetry::EventKind::metric;
  return event;
}

inline telemetry::Event op_event(int program, int op, int step, double bytes) {
  telemetry::Event event;
  event.value = bytes;
  event.step = step;
  event.subject = static_cast<std::uint16_t>(op);
  event.index = static_cast<std::uint16_t>(program);
  event.kind = telemetry::EventKind::op;
  return event;
}

// Run directory that is removed with the object.
class RecordedRun {
 public:
  RecordedRun() {
    std::string name =
        (std::filesystem::temp_directory_path() / "trainyard-recorded-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
  }
  ~RecordedRun() {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  RecordedRun(const RecordedRun&) = delete;
  RecordedRun& operator=(const RecordedRun&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path recording() const { return directory_ / telemetry::kRecordingFile; }

  // Writes a recording with the events of each rank, and a result unless it is null.
  void write(const base::Json& header, const std::vector<std::vector<telemetry::Event>>& by_rank,
             const base::Json& result = base::Json::object()) const {
    auto writer = telemetry::RecordingWriter::create(recording(), header).value();
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
      EXPECT_TRUE(writer.append_events(static_cast<int>(rank), by_rank[rank]));
    EXPECT_TRUE(result.is_null() || writer.append_json(telemetry::FrameType::result, -1, result));
    EXPECT_TRUE(writer.close());
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace trainyard::session
