// SPDX-License-Identifier: GPL-3.0-or-later
// What coordinator, ranks and viewers tell each other. Plain structs; how they travel is the
// control interface's matter.
//
//   rank                          coordinator                       viewer (workbench, command line)
//   Hello             -->
//                     <--         Assign
//   Hello             -->                  once more, over the connection of its heartbeats
//   Planned           -->                  refuses versions and plan hashes that differ
//                     <--         Start    (once every rank has planned)
//   Progress, Events, Samples, Order, Saved, Log -->
//                     <--         Horizon, Slow, Gone, Committed
//                                          <--                      Ask (a command or a question)
//                                 Status   -->
//   Finished | Failed -->
//                     <--         Abort    (to the others)
//
// A rank that was lost, and comes back, begins with its Hello while the others go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/event.h"

namespace trainyard::session {

// The first word of a rank: who it is. `token` proves that this coordinator started it.
struct Hello {
  std::int32_t rank = -1;
  std::string token;
  std::string software;  // version of the rank's software
  std::int64_t process = 0;
};

struct Assign {
  std::string resolved;  // JSON of the resolved experiment
  std::uint32_t generation = 0;
  std::uint64_t run_key =
      0;  // a random number of this run, by which ranks know each other's frames
  std::string run_directory;
};

struct Planned {
  std::int32_t rank = -1;
  std::string plan_hash;  // xxh64 of the plan's text over all ranks
  std::string endpoint;   // of the rank's data plane; empty where it has none
};

struct Start {
  std::vector<std::string> endpoints;  // by rank
  std::string plan_hash;
};

// Steps below `step` may run. `last`: there will be none after that, finish there.
struct Horizon {
  std::int64_t step = 0;
  bool last = false;
  bool single = false;     // the step below it is one that a person steps, and looks at
  std::int32_t chief = 0;  // the rank that saves what all have alike
};

// The heartbeat of a rank: where it is and what it waits for, a few times a second, from a thread
// of its own.
struct Progress {
  std::int32_t rank = -1;
  std::int64_t step = 0;        // the step that runs, or would run next
  std::uint64_t ops_done = 0;   // grows as long as anything happens
  std::string op;               // token of the op it is in or waits for; empty at the horizon
  std::int32_t waits_for = -1;  // peer rank it waits for; -1: none
};

struct Events {
  std::int32_t rank = -1;
  std::uint64_t dropped = 0;  // total of events lost before shipping
  std::vector<telemetry::Event> events;
};

// Values of chunks, of a few steps.
struct Samples {
  std::int32_t rank = -1;
  std::string values;  // bytes, as in a frame of a recording (telemetry/chunk_values.h)
};

// What a rank that keeps an order (run::keeps_order) did since it last said so.
struct Order {
  std::int32_t rank = -1;
  std::string events;  // as plan::served_of reads them, of one that answers plan::answers_of
};

// To servers: this rank is gone, and with it what was of this generation between it and them.
struct Gone {
  std::int32_t rank = -1;
  std::uint32_t generation = 0;
};

// A part of a checkpoint that a rank has written, or could not.
struct Saved {
  std::int32_t rank = -1;
  std::int64_t step = 0;  // of the checkpoint
  bool state = false;     // what models keep besides parameters, of which one rank's is enough
  std::string file, xxh64;
  std::int64_t bytes = 0, version = 0;
  std::string problem;  // empty: it is written
};

// To evaluators: the checkpoint of so many steps is whole. `last`: training is over, none will come
// after it.
struct Committed {
  std::int64_t step = -1;  // -1: there is none yet
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
  std::string parameters_xxh64;         // empty: it keeps none
  std::uint64_t peak_memory_bytes = 0;  // of its process; 0: it has none of its own
  std::int64_t first_step_done_ns = 0;  // CLOCK_MONOTONIC
  std::vector<RankTraffic> peers;       // by rank
};

struct Abort {
  base::Problem reason;
};

// From now on this rank computes so many times slower, and each step up to the fraction `jitter`
// slower still.
struct Slow {
  std::int32_t rank = -1;
  double slow_down = 1, jitter = 0;
};

// From now on this drawn link, where links are imposed, carries this part of its bandwidth each
// way. 0: it is cut, and what is on it waits.
struct LinkPart {
  std::int32_t link = -1;  // of the drawing's
  double part = 1;
};

// `kill`, `stall` (until `wake`), `link`: what befalls ranks and links, for those who want to see
// what comes of it. `restart`: a rank that was lost.
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

// From a viewer. A repeated `id` is answered again but not carried out again.
struct Ask {
  std::uint64_t id = 0;
  Command command = Command::ask;
  double seconds_per_step = 0;  // of set_pace
  Slow slow = {};               // of slow
  std::int32_t rank = -1;       // of kill, stall, wake, restart
  LinkPart link = {};           // of link
};

// From `finished` on it is over. `stopped`: ended in order before its last step, as it was told to.
enum class RunState : std::uint8_t {
  starting,
  running,
  pausing,
  paused,
  stopping,
  finished,
  stopped,
  failed,
  cancelled
};

constexpr bool has_ended(RunState state) { return state > RunState::stopping; }
constexpr bool ended_well(RunState state) {
  return state == RunState::finished || state == RunState::stopped;
}

struct RankStatus {
  std::int32_t rank = -1;
  std::string state;  // "starting", "running", "waiting", "paused", "stalled", "finished", "lost",
                      // "returning"
  std::int64_t step = 0;
  std::string op;
  std::int32_t waits_for = -1;
  std::int64_t process = 0;
  double slow_down = 1, jitter = 0;  // as drawn, or as asked last
};

struct Status {
  std::uint64_t answers = 0;  // id of the Ask
  RunState state = RunState::starting;
  std::int64_t step = 0, steps = 0, horizon = 0;
  double seconds_per_step = 0;
  std::vector<RankStatus> ranks;
  std::optional<base::Problem> problem;
  std::string run_directory;
  std::vector<LinkPart> links = {};  // those that are not as drawn
};

using Message =
    std::variant<Hello, Assign, Planned, Start, Horizon, Progress, Events, Log, Failed, Finished,
                 Abort, Ask, Status, Slow, Samples, Order, Gone, Saved, Committed>;

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::RunState> {
  using S = trainyard::session::RunState;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::starting, "starting"}, {S::running, "running"},   {S::pausing, "pausing"},
      {S::paused, "paused"},     {S::stopping, "stopping"}, {S::finished, "finished"},
      {S::stopped, "stopped"},   {S::failed, "failed"},     {S::cancelled, "cancelled"}};
};
