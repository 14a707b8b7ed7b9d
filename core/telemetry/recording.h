// SPDX-License-Identifier: GPL-3.0-or-later
// Recording of a run: an append-only file of checksummed frames (format: frame.h). Only the
// coordinator writes it; every view reads it through a cursor, live or afterwards. A torn tail
// loses only the tail.
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

namespace trainyard::telemetry {

inline constexpr int kRecordingSchema = 1;
inline constexpr const char* kRecordingFile = "recording.try";  // In the run directory.

enum class FrameType : std::uint32_t {
  // JSON, first frame: schema, software, started_unix_seconds, run, experiment (resolved),
  // plan_hash, ranks (number), segments (names), generation.
  header = 1,
  plan = 2,  // Text of one rank's expanded plan; op events refer to its programs and ops by number.
  events = 3,   // Event[]
  log = 4,      // JSON: level, time_ns, text.
  state = 5,    // JSON: state, time_ns, step, horizon, pace; for a fault also kind, rank, text.
  samples = 6,  // ChunkValues[] (chunk_values.h) of one rank.
  // JSON: result line of the command-line contract; the last frame of a finished run except the
  // index.
  result = 7,
  // In a separate file (order.try; header: run, plan_hash): events of one rank, decoded by
  // `plan::served_of` for a server, else by `plan::answers_of`.
  order = 9,
  // IndexEntry[] of all frames before it, then its own offset (64 bits), so that a reader of a
  // finished run can jump.
  index = 8,
};

struct Frame {
  FrameType type;
  int rank = -1;                       // -1: the coordinator.
  std::span<const std::byte> payload;  // Valid until the reader moves on.
};

class RecordingWriter {
 public:
  // Creates the file and writes the header (an object, to which `schema` is added). Returns a
  // Problem if a recording already exists.
  static base::Result<RecordingWriter> create(const std::filesystem::path& path, base::Json header);
  ~RecordingWriter();  // Flushes; a run that ends normally calls `close`.
  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;

  // Writes to a buffer; `flush` passes everything to the file system. A payload is at most
  // kMaximumPayload (64 MiB). A full disk is a Problem and leaves complete frames on disk;
  // afterwards every call returns that Problem.
  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> append_json(FrameType type, int rank, const base::Json& json);
  base::Result<void> append_events(int rank, std::span<const Event> events);
  base::Result<void> flush();
  base::Result<void> close();  // Writes the index and syncs; nothing can be appended afterwards.

 private:
  struct State;
  explicit RecordingWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class RecordingReader {
 public:
  // Refuses files that are not recordings, or have a newer schema.
  static base::Result<RecordingReader> open(const std::filesystem::path& path);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;

  // Returns the frame at the cursor and advances the cursor; nothing if there is no complete frame
  // (yet: retry while the run is active). A damaged frame is a Problem, and the cursor stays before
  // it. Frames read earlier remain valid.
  base::Result<std::optional<Frame>> next();

  // Bytes of an incomplete frame, after `next` returned nothing. 0 if the file ends at a frame
  // boundary.
  std::size_t unfinished_bytes() const;

  // Moves the cursor to the last frame of that type, using the index of a closed recording. Returns
  // false without moving if there is no index or no such frame.
  bool jump_to_last(FrameType type);

 private:
  struct State;
  explicit RecordingReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

base::Result<std::vector<Event>> events_of(const Frame& frame);  // For an events frame.
base::Result<base::Json> json_of(const Frame& frame);            // For a JSON frame.

}  // namespace trainyard::telemetry
