// SPDX-License-Identifier: GPL-3.0-or-later
// Output of a run while it runs: the recording, run.log, and the history in memory, from which the
// result is computed. A write error does not end the run here. The first write error is kept in
// `failure`, for the coordinator to handle.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "core/base/json.h"
#include "core/plan/plan.h"
#include "core/telemetry/bounded_recording.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

inline constexpr const char* kOrderFile =
    "order.try";  // File in the run directory, with frames as in a recording.
inline constexpr const char* kLogFile = "run.log";

struct LogEntry {
  std::string level, text;
  int rank = -1;                     // -1: the entry is of the coordinator.
  std::string name = "coordinator";  // Name of the sender.
  std::int64_t time_ns = 0;          // Time of the entry (CLOCK_MONOTONIC).
};

class Journal {
 public:
  // Creates the files in `directory` and writes the header and the plan of every rank.
  // `started_ns`: origin of the times in run.log.
  static base::Result<Journal> open(const std::filesystem::path& directory,
                                    const base::Json& header, const plan::Plan& plan,
                                    const telemetry::RecordingLimit& limit,
                                    std::int64_t started_ns);

  // Writes entries of run.log as they arrive. Entries of two ranks may be out of order; their times
  // show the true order.
  void log(const LogEntry& entry);
  void state(const base::Json& state);
  // Writes metrics to the recording and the history. Ops go only to the recording, because there
  // are too many to keep in memory.
  void events(int rank, std::span<const telemetry::Event> events);
  // While true, the recording has all ops, also if it is thinned.
  void keep_ops(bool all) { recording_.keep_ops(all); }
  void keep_ops_around_now() { note(recording_.keep_ops_around_now()); }
  // Writes sampled chunk values of a rank. Drops bytes that cannot be decoded as chunk values.
  void samples(int rank, std::span<const std::byte> values);
  // Writes events of a server or passive rank (`run::keeps_order`) to a separate file
  // (order_file.h), which is created on first use.
  void order(int rank, std::span<const std::byte> events);
  void conclude() {
    history_.conclude();
  }  // Marks the history as complete, so that the result can be computed from it.
  void result(const base::Json& result);
  void flush();
  // Writes files again that were removed during the run. `failure` is then set, unless only run.log
  // was removed, of which nothing is lost.
  void restore_removed();
  void close();  // Closes the files; nothing can be written afterwards.

  const std::optional<base::Problem>& failure() const { return failure_; }
  const telemetry::History& history() const { return history_; }
  const telemetry::RecordedThinning& thinning() const { return recording_.thinning(); }

 private:
  Journal(const std::filesystem::path& directory, telemetry::BoundedRecording recording,
          std::int64_t started_ns);
  void record(telemetry::FrameType type, int rank, std::span<const std::byte> payload);
  void record_json(telemetry::FrameType type, int rank, const base::Json& json);
  void note(const base::Result<void>& written);
  void write_log_line(double seconds, const std::string& name, const std::string& level,
                      const std::string& text);

  std::filesystem::path directory_;
  telemetry::BoundedRecording recording_;
  // Header of the order file, which identifies the run.
  base::Json order_header_ = base::Json::object();
  std::optional<telemetry::RecordingWriter> order_;
  std::ofstream log_;
  std::int64_t started_ns_;
  telemetry::History history_;
  std::vector<telemetry::Event> metrics_;
  std::optional<base::Problem> failure_;
};

}  // namespace trainyard::session
