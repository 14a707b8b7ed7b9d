// SPDX-License-Identifier: GPL-3.0-or-later
// Log of the events of parameter servers, in the order of each server. The results of training with
// servers depend only on the experiment and on this log. With the log, a run can be replayed bit
// for bit (run/replay/server_replay.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/merged.h"

namespace trainyard::plan {

struct ServerEvent {
  enum class Kind : std::uint8_t {
    joins,   // a worker requests its first parameters
    takes,   // a worker's gradient is added to an update, or dropped
    gives,   // a worker is sent parameters
    leaves,  // a worker left; if it was lost, it may join again
  };
  Kind kind = Kind::joins;
  // for `takes`: `dropped`: the gradient was dropped as stale; `completes`: the gradient completes
  // the update
  bool dropped = false, completes = false;
  // for `gives` of the first server: `evaluates`: the worker first evaluates with these parameters;
  // `last`: no work is left
  bool evaluates = false, last = false;
  std::int32_t server = 0, worker = 0;  // indices of the server and of the worker, each from 0
  std::int64_t step = 0;  // for gives of the first server: step that the worker computes
  // for `takes`: parameter version with which the gradient was computed; for `gives`: version that
  // was sent
  std::int64_t version = 0;
  std::int64_t staleness = 0;  // for takes: staleness of the gradient (arrivals.h)
  std::int64_t done = 0;       // completed steps of the run, as this server counts them
  std::int64_t time_ns = 0;    // time on the servers' clock

  bool operator==(const ServerEvent&) const = default;
};

// Serializes an event for a file or a message: little-endian on every machine, 56 bytes an event.
// `served_of` returns a Problem if the bytes are not valid events.
void append(const ServerEvent& event, std::string& bytes);
base::Result<std::vector<ServerEvent>> served_of(std::span<const std::byte> bytes);

// Source of server events: a virtual clock that generates them, or a recorded run. The events of
// each server are returned in the order in which they occurred on it. A gradient is taken after all
// servers gave the parameters from which it was computed. A lost worker joins again after all
// servers saw it leave.
class ServerEventSource {
 public:
  virtual ~ServerEventSource() = default;

  // Raises the limit of the run, in steps; it never decreases. `last`: the limit is final.
  virtual void allow(std::int64_t steps, bool last) = 0;
  // Slows down a rank: from now on it computes `slow_down` times slower, and each step takes longer
  // by a random fraction of at most `jitter`.
  virtual void slow(int rank, double slow_down, double jitter) = 0;
  // Returns the next event; nothing if the limit is reached or the run is over.
  virtual base::Result<std::optional<ServerEvent>> next() = 0;
  virtual bool over() const = 0;
};

// Recorded events of all servers, merged into one order that is consistent with every log.
class RecordedOrder final : public ServerEventSource {
 public:
  // `servers`: logs by server. Returns a Problem if an event names a server or worker that does not
  // exist.
  static base::Result<RecordedOrder> make(std::vector<std::vector<ServerEvent>> servers,
                                          int workers);

  void allow(std::int64_t, bool) override {}  // does nothing: a recorded run ends where it ended
  void slow(int, double, double) override {}
  base::Result<std::optional<ServerEvent>> next() override;
  bool over() const override;

 private:
  bool possible(const ServerEvent& event) const;
  void count(const ServerEvent& event);

  MergedLogs<ServerEvent> servers_;
  // Counters of the events between one worker and one server. `left`: number of processes of the
  // worker that are gone, including processes that were lost before they joined.
  struct Between {
    // `given` and `taken`: number of events since the previous process of the worker left
    std::int64_t left = 0, given = 0, taken = 0;
  };
  std::vector<std::vector<Between>> between_;  // counters by worker and server
};

}  // namespace trainyard::plan
