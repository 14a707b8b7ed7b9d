// SPDX-License-Identifier: GPL-3.0-or-later
// A run on disk: an append-only file of checksummed frames (their bytes: frame.h), written by the
// coordinator alone and read by every view, live or old, through a cursor. A torn tail loses the
// tail only.
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
inline constexpr const char* kRecordingFile = "recording.try";  // in the run directory

enum class FrameType : std::uint32_t {
  header = 1,  // JSON, the first frame: schema, software, started_unix_seconds, run, experiment
               // (resolved), plan_hash, ranks (how many), segments (names), generation
  plan = 2,  // text of one rank's plan, expanded: op events refer to its programs and ops by number
  events = 3,   // Event[]
  log = 4,      // JSON: level, time_ns, text
  state = 5,    // JSON: state, time_ns, step, horizon, pace; and of a fault: kind, rank, text
  samples = 6,  // ChunkValues[] (chunk_values.h) of one rank
  result = 7,   // JSON: the result line of the command-line contract; the last frame of a finished
                // run but the index
  order = 9,  // of a file of its own (order.try; its header: run, plan_hash): what one rank did, a
              // server as plan::served_of reads it, else plan::answers_of
  index = 8,  // IndexEntry[] of the frames before it + its own offset (64 bits), so that a reader
              // of a finished run can jump
};

struct Frame {
  FrameType type;
  int rank = -1;                       // -1: the coordinator
  std::span<const std::byte> payload;  // valid until the reader moves on
};

class RecordingWriter {
 public:
  // Makes the file, with the header (an object, to which `schema` is added) already written; an
  // existing recording is a Problem.
  static base::Result<RecordingWriter> create(const std::filesystem::path& path, base::Json header);
  ~RecordingWriter();  // flushes; a run that ends well is closed
  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;

  // Buffered; `flush` hands everything to the file system. A payload is at most kMaximumPayload (64
  // MiB). A full disk is a Problem and leaves whole frames on disk; from then on every call answers
  // with that Problem.
  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> append_json(FrameType type, int rank, const base::Json& json);
  base::Result<void> append_events(int rank, std::span<const Event> events);
  base::Result<void> flush();
  base::Result<void> close();  // writes the index and syncs; nothing can be appended after it

 private:
  struct State;
  explicit RecordingWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class RecordingReader {
 public:
  // Refuses what is not a recording, or has a newer schema.
  static base::Result<RecordingReader> open(const std::filesystem::path& path);
  ~RecordingReader();
  RecordingReader(RecordingReader&&) noexcept;
  RecordingReader& operator=(RecordingReader&&) noexcept;

  // The frame at the cursor, which then moves on; nothing when no whole frame is there (yet: ask
  // again while the run lives). A damaged frame is a Problem, and the cursor stays before it; what
  // was read before it stands.
  base::Result<std::optional<Frame>> next();

  // After `next` gave nothing: the bytes of a frame that is not whole (yet). 0 in a file that ends
  // well.
  std::size_t unfinished_bytes() const;

  // Moves the cursor to the last frame of that type, by the index of a closed recording. False, and
  // nothing moves, when there is no index or no such frame.
  bool jump_to_last(FrameType type);

 private:
  struct State;
  explicit RecordingReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

base::Result<std::vector<Event>> events_of(const Frame& frame);  // of an events frame
base::Result<base::Json> json_of(const Frame& frame);            // of a JSON frame

}  // namespace trainyard::telemetry
