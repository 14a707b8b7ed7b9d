// SPDX-License-Identifier: GPL-3.0-or-later
// What a run writes down while it goes: the recording, run.log, and in memory the history that the
// result is made from. Nothing here ends a run: the first thing that could not be written is kept
// in `failure`, for the coordinator to act on.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "core/base/json.h"
#include "core/plan/plan.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

inline constexpr const char* kOrderFile =
    "order.try";  // in the run directory; frames as of a recording

struct LogEntry {
  std::string level, text;
  int rank = -1;                     // -1: the coordinator
  std::string name = "coordinator";  // of who says it
  std::int64_t time_ns = 0;          // CLOCK_MONOTONIC
};

class Journal {
 public:
  // Makes the files in `directory`. The header and the plan of every rank come first. `started_ns`:
  // from when run.log counts.
  static base::Result<Journal> open(const std::filesystem::path& directory,
                                    const base::Json& header, const plan::Plan& plan,
                                    std::int64_t started_ns);

  void log(const LogEntry& entry);  // as they arrive: those of two ranks may overtake each other,
                                    // and their times say so
  void state(const base::Json& state);
  // Metrics go into the history as well; ops only into the recording, for there are too many of
  // them.
  void events(int rank, std::span<const telemetry::Event> events);
  // What cannot be values is not written down.
  void samples(int rank, std::span<const std::byte> values);
  // What a rank did that keeps an order. In a file of its own (order_file.h), which is made when
  // there is something to write down.
  void order(int rank, std::span<const std::byte> events);
  void conclude() {
    history_.conclude();
  }  // nothing more is measured: its history can be looked at for the result
  void result(const base::Json& result);
  void flush();
  void close();  // nothing can be written after it

  const std::optional<base::Problem>& failure() const { return failure_; }
  const telemetry::History& history() const { return history_; }

 private:
  Journal(const std::filesystem::path& directory, telemetry::RecordingWriter recording,
          std::int64_t started_ns);
  void record(telemetry::FrameType type, int rank, std::span<const std::byte> payload);
  void record_json(telemetry::FrameType type, int rank, const base::Json& json);
  void note(const base::Result<void>& written);

  std::filesystem::path directory_;
  telemetry::RecordingWriter recording_;
  base::Json order_header_ = base::Json::object();  // whose order it is
  std::optional<telemetry::RecordingWriter> order_;
  std::ofstream log_;
  std::int64_t started_ns_;
  telemetry::History history_;
  std::vector<telemetry::Event> metrics_;
  std::optional<base::Problem> failure_;
};

}  // namespace trainyard::session
