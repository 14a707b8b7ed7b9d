// SPDX-License-Identifier: GPL-3.0-or-later
// Control messages between coordinator, ranks and viewers, as plain structs. The control interface
// (control.h) transports them.
//
//   rank                          coordinator                       viewer (workbench, CLI)
//   Hello             -->
//                     <--         Assign
//   Hello             -->                  again, over the connection of its heartbeats
//   Planned           -->                  refuses versions and plan hashes that differ
//                     <--         Start    (once every rank has planned)
//   Progress, Events, Samples, Order, SavedPiece, Saved, Log -->
//                     <--         Horizon, Slow, Gone, PieceReceived, Committed
//                                          <--                      Ask (a command or a question)
//                                 Status   -->
//   Finished | Failed -->
//                     <--         Abort    (to the others)
//
// A rank that replaces a failed one starts with its Hello while the other ranks continue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/event.h"

namespace trainyard::session {

// First message of a rank: its identity. `token` proves that this coordinator started it.
struct Hello {
  std::int32_t rank = -1;
  std::string token;
  std::string software;  // Version of the rank's software.
  std::int64_t process = 0;
};

struct Assign {
  std::string resolved;  // JSON of the resolved experiment.
  std::uint32_t generation = 0;
  // Random number of this run, by which ranks recognize each other's frames.
  std::uint64_t run_key = 0;
  std::string run_directory;  // Empty if the rank is on another machine.
};

struct Planned {
  std::int32_t rank = -1;
  std::string plan_hash;  // xxh64 of the plan's text over all ranks.
  std::string endpoint;   // Endpoint of the rank's data plane; empty if it has none.
};

struct Start {
  std::vector<std::string> endpoints;  // Endpoints of all ranks' data planes, by rank.
  std::string plan_hash;
};

// Steps below `step` may run. `last`: no further horizon follows; finish at `step`.
struct Horizon {
  std::int64_t step = 0;
  bool last = false;
  bool single = false;     // A viewer requested a single step, the one before `step`.
  std::int32_t chief = 0;  // Rank that saves the state that all ranks share.
};

// Heartbeat of a rank: its position and what it waits for, sent a few times a second from a
// separate thread.
struct Progress {
  std::int32_t rank = -1;
  std::int64_t step = 0;        // Step in progress, or the next one.
  std::uint64_t ops_done = 0;   // Counts completed ops; grows while the rank makes progress.
  std::string op;               // Token of the op that runs or waits; empty at the horizon.
  std::int32_t waits_for = -1;  // Peer rank that this rank waits for; -1: none.
};

struct Events {
  std::int32_t rank = -1;
  std::uint64_t dropped = 0;  // Total number of events that were lost before they could be sent.
  std::vector<telemetry::Event> events;
};

// Sampled values of chunks (pieces of buffers that a collective sends), recorded for a few steps.
struct Samples {
  std::int32_t rank = -1;
  std::string values;  // Bytes in the format of a recording (telemetry/chunk_values.h).
};

// Events of a server or of a passive gossip rank (`run::keeps_order`) since its last Order message.
// A replay needs their order.
struct Order {
  std::int32_t rank = -1;
  // Events of a server in the format of `plan::served_of`, or events of a passive gossip rank in
  // the format of `plan::answers_of`.
  std::string events;
};

// Message to servers: a process of this rank is gone, with all its connections. `generation` is the
// number of the process, which increases with each restart of the rank.
struct Gone {
  std::int32_t rank = -1;
  std::uint32_t generation = 0;
};

// Piece of a checkpoint part, from a rank without access to the run directory. The rank sends all
// pieces in order, then the Saved of the part, which names the same file.
struct SavedPiece {
  std::int32_t rank = -1;
  std::string file;
  std::int64_t offset = 0;  // Of the first byte, in the file.
  std::string bytes;
};

// Answer to a SavedPiece: the number of bytes of the file that the coordinator has.
struct PieceReceived {
  std::int32_t rank = -1;
  std::string file;
  std::int64_t bytes = 0;
};

// Part of a checkpoint that a rank has written, sent in pieces, or failed to write.
struct Saved {
  std::int32_t rank = -1;
  std::int64_t step = 0;  // Step of the checkpoint.
  bool state = false;     // True for the model's state besides parameters; one rank writes it.
  std::string file, xxh64;
  std::int64_t bytes = 0, version = 0;
  std::string problem;  // Empty if the part was written.
};

// Message to evaluators: the checkpoint of `step` is complete. `last`: training is over, and no
// checkpoint follows.
struct Committed {
  std::int64_t step = -1;  // Step of the checkpoint; -1: there is none yet.
  bool last = false;
};

struct Log {
  std::int32_t rank = -1;
  std::int64_t time_ns = 0;
  std::string level, text;
};

struct Failed {
  std::int32_t rank = -1;
  std::int64_t step = 0;
  std::string op;
  base::Problem problem;
};

struct RankTraffic {
  std::uint64_t sent_payload_bytes = 0, sent_header_bytes = 0;
  std::uint64_t received_payload_bytes = 0, received_header_bytes = 0;
};

struct Finished {
  std::int32_t rank = -1;
  std::int64_t steps = 0;
  std::string parameters_xxh64;  // Empty if the rank keeps no parameters.
  // Peak memory of the rank's process; 0 if the rank is a thread, whose memory cannot be measured
  // separately.
  std::uint64_t peak_memory_bytes = 0;
  // Time at which the rank completed its first step (CLOCK_MONOTONIC).
  std::int64_t first_step_done_ns = 0;
  std::vector<RankTraffic> peers;  // Traffic with each peer, by rank.
};

struct Abort {
  base::Problem reason;
};

// Slows the computation of this rank by the factor `slow_down` from now on, and each step by a
// further random fraction up to `jitter`.
struct Slow {
  std::int32_t rank = -1;
  double slow_down = 1, jitter = 0;
};

// From now on, link number `link` of the drawing has the fraction `part` of its drawn bandwidth, in
// each direction. Requires a run that limits links to their drawn bandwidth. 0: the link is cut,
// and its traffic waits.
struct LinkBandwidth {
  std::int32_t link = -1;  // Index of the link in the drawing.
  double part = 1;
};

// Commands of a viewer. `kill`, `stall` (until `wake`) and `link` inject faults into ranks and
// links. `restart` restarts a failed rank.
enum class Command : std::uint8_t {
  ask,
  pause,
  resume,
  single_step,
  stop,
  set_pace,
  slow,
  kill,
  stall,
  wake,
  restart,
  link
};

// Request of a viewer (workbench or command line). A request with a repeated `id` is answered again
// but not carried out again.
struct Ask {
  std::uint64_t id = 0;
  Command command = Command::ask;
  double seconds_per_step = 0;  // Requested pace, for command `set_pace`.
  Slow slow = {};               // Requested slowdown, for command `slow`.
  // Rank that commands `kill`, `stall`, `wake` and `restart` refer to.
  std::int32_t rank = -1;
  LinkBandwidth link = {};  // Requested bandwidth, for command `link`.
};

// State of a run. `finished` and all later values mean that it has ended. `stopped`: ended on
// request, without error, before its last step.
enum class RunState : std::uint8_t {
  starting,
  running,
  pausing,
  paused,
  stopping,
  finished,
  stopped,
  failed,
  canceled
};

constexpr bool has_ended(RunState state) { return state > RunState::stopping; }
constexpr bool ended_well(RunState state) {
  return state == RunState::finished || state == RunState::stopped;
}

struct RankStatus {
  std::int32_t rank = -1;
  // State of the rank: one of "starting", "running", "waiting", "paused", "stalled", "suspected",
  // "finished", "lost", "returning".
  std::string state;
  std::int64_t step = 0;
  std::string op;
  std::int32_t waits_for = -1;
  std::int64_t process = 0;
  // Slowdown of the rank: the last one requested, or else the drawn one.
  double slow_down = 1, jitter = 0;
};

struct Status {
  std::uint64_t answers = 0;  // `id` of the Ask that this Status answers.
  RunState state = RunState::starting;
  std::int64_t step = 0, steps = 0, horizon = 0;
  double seconds_per_step = 0;
  std::vector<RankStatus> ranks;
  std::optional<base::Problem> problem;
  std::string run_directory;
  std::vector<LinkBandwidth> links = {};  // Links whose bandwidth differs from the drawing.
};

using Message = std::variant<Hello, Assign, Planned, Start, Horizon, Progress, Events, Log, Failed,
                             Finished, Abort, Ask, Status, Slow, Samples, Order, Gone, Saved,
                             Committed, SavedPiece, PieceReceived>;

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::RunState> {
  using S = trainyard::session::RunState;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::starting, "starting"}, {S::running, "running"},   {S::pausing, "pausing"},
      {S::paused, "paused"},     {S::stopping, "stopping"}, {S::finished, "finished"},
      {S::stopped, "stopped"},   {S::failed, "failed"},     {S::canceled, "cancelled"}};
};
