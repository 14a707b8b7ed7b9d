// SPDX-License-Identifier: GPL-3.0-or-later
// Recording of a run: an append-only file of frames with checksums (format: frame.h). Only the
// coordinator writes it. Every view reads it through a cursor, during the run or afterwards. If
// writing is interrupted, only the incomplete last frame is lost. The recording of a long run is
// thinned, and has its last part in files beside it (bounded_recording.h).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/telemetry/event.h"
#include "core/telemetry/packed_metrics.h"

namespace trainyard::telemetry {

inline constexpr int kRecordingSchema = 1;
// Name of the file in the run directory.
inline constexpr const char* kRecordingFile = "recording.try";
// Name of a file beside the recording with recent events of a long run. `number` starts at 1.
std::string recent_file(int number);

enum class FrameType : std::uint32_t {
  // JSON, first frame: schema, software, started_unix_seconds, run, experiment (resolved),
  // plan_hash, ranks (number), segments (names), generation.
  header = 1,
  // Text of one rank's expanded plan. Op events refer to programs and ops of this plan by number.
  plan = 2,
  events = 3,   // Event[]
  log = 4,      // JSON: level, time_ns, text.
  state = 5,    // JSON: state, time_ns, step, horizon, pace; for a fault also kind, rank, text.
  samples = 6,  // ChunkValues[] (chunk_values.h) of one rank.
  // JSON: the result line that the command line prints. It is the last frame of a finished run,
  // except for the index.
  result = 7,
  // Order of asynchronous events of one rank, in a separate file (order.try; header: run,
  // plan_hash). Decoded by `plan::served_of` for a server, else by `plan::answers_of`.
  order = 9,
  // IndexEntry[] of all frames before this one, then the offset of this frame (64 bits), so that a
  // reader of a finished run can jump to any frame.
  index = 8,
  metrics = 10,   // Compressed metric events of several ranks (packed_metrics.h).
  blocks = 11,    // Compressed summaries of metric events (series_block.h).
  thinning = 12,  // JSON: RecordedThinning (recorded_documents.h); the last frame counts.
  // JSON: number. From this frame on, the file `recent_file(number)` contains all events. While it
  // exists, RecordingReader returns its frames instead of those of the recording after this frame.
  recent = 13,
};

struct Frame {
  FrameType type;
  int rank = -1;                       // -1: the coordinator.
  std::span<const std::byte> payload;  // Valid until the reader's next call.
};

class RecordingWriter {
 public:
  // Creates the file and writes the header (an object, to which `schema` is added). Returns a
  // Problem if a recording already exists.
  static base::Result<RecordingWriter> create(const std::filesystem::path& path, base::Json header);
  ~RecordingWriter();  // Writes buffered frames; a run that ends normally calls `close` before.
  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;

  // Appends a frame to a buffer; `flush` passes everything to the file system. A payload has at
  // most kMaxPayload bytes. If the disk is full, returns a Problem, as every later call does;
  // complete frames stay on disk.
  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> append_json(FrameType type, int rank, const base::Json& json);
  base::Result<void> append_events(int rank, std::span<const Event> events);
  base::Result<void> flush();
  std::uint64_t bytes() const;  // Size of the file, including the buffer.
  // Checks that the file is still at its path. If it was removed (for example with the run
  // directory), writes it there again, so that nothing is lost, and returns a Problem.
  base::Result<void> restore_if_removed();
  base::Result<void> close();  // Writes the index and syncs; nothing can be appended afterwards.

 private:
  struct State;
  explicit RecordingWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class RecordingReader {
 public:
  // Opens a recording. Refuses files that are not recordings, or that have a newer schema.
  static base::Result<RecordingReader> open(const std::filesystem::path& path);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;

  // Returns the frame at the cursor and advances the cursor. Returns nothing if there is no
  // complete frame; while the run is active, retry later. Returns a Problem if the frame is
  // damaged; the cursor then stays before it. The frames before the cursor are intact.
  base::Result<std::optional<Frame>> next();

  // Size in bytes of the incomplete frame at the cursor, after `next` returned nothing. 0 if the
  // file ends at a frame boundary.
  std::size_t unfinished_bytes() const;

  // Moves the cursor to the last frame of type `type`, using the index of a closed recording.
  // Returns false without moving if there is no index or no such frame.
  bool jump_to_last(FrameType type);

 private:
  struct State;
  explicit RecordingReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns the events of an events frame.
base::Result<std::vector<Event>> events_of(const Frame& frame);
// Returns the events of a frame of type `events` or `metrics`, each with its rank.
base::Result<std::vector<RankEvent>> rank_events_of(const Frame& frame);
// Returns the value of a JSON frame.
base::Result<base::Json> json_of(const Frame& frame);

}  // namespace trainyard::telemetry
