// SPDX-License-Identifier: GPL-3.0-or-later
// Arrival rule of a parameter server. The rule decides whether a gradient becomes part of an update
// or is dropped as stale. It also decides when the worker that pushed the gradient may pull
// parameters again. The server, the simulator and the virtual clock share this class. It holds no
// model data and reads no clock.
//
// A worker's round: pull the parameters of one version, compute, push the gradient. A push is also
// the worker's request for its next pull. The version of parameters is the number of updates made
// so far. λ is the number of workers.
//
// rule                    gradients    when a worker is answered
//                         per update
// asynchronous            1            immediately
// n-softsync              λ / n        immediately (Zhang, Gupta, Lian, Liu 2016: staleness-aware
//                                      asynchronous SGD)
// stale-synchronous, s    1            immediately, unless the worker is more than s rounds ahead
//                                      of the slowest (Ho et al. 2013: SSP)
// synchronous             λ            after the update
// b backup workers        λ - b        after the update; later gradients are dropped (Chen et al.
//                                      2016: revisiting synchronous SGD)
//
// Staleness of a gradient: the version at which it is applied, minus the version that its worker
// pulled.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace trainyard::plan {

struct ArrivalRule {
  int workers = 1;
  int gradients_per_update = 1;
  // true: workers are answered after the update (synchronous), and gradients of an older version
  // are dropped
  bool answers_after_update = false;
  // maximum number of rounds that a worker may be ahead of the slowest; -1: no limit
  std::int64_t clock_bound = -1;

  bool operator==(const ArrivalRule&) const = default;
};

class ArrivalQueue {
 public:
  explicit ArrivalQueue(const ArrivalRule& rule);

  // Continues a run from `version` updates and `steps` steps. Call it before any other function.
  void resume_from(std::int64_t version, std::int64_t steps);
  // Raises the limit of the run: in updates if `answers_after_update`, else in rounds. It never
  // decreases.
  void allow(std::int64_t steps);

  // Adds a worker, which requests its first parameters, at the start or after it rejoined.
  void join(int worker);
  // Removes a worker, so that the other workers no longer wait for it. If a round was assigned to
  // the worker but not pushed, that round goes to the next worker that requests one.
  void leave(int worker);

  struct Push {
    std::int64_t pulled = 0;  // version that the gradient was computed from
    // current version minus the version that the worker pulled; for a dropped gradient, the number
    // of versions by which it is late
    std::int64_t staleness = 0;
    std::int64_t round = 0;  // index of the assigned round, counted over all workers
    bool dropped = false;
    bool completes = false;  // the gradient completes the update, which raises the version by one
  };
  // Takes a gradient from a worker that has received parameters. The worker then waits for its next
  // parameters.
  Push push(int worker);

  struct Answer {
    int worker = 0;
    std::int64_t version = 0;
    // index of the assigned round, which selects the samples. Synchronous rules: version * λ +
    // worker; others: in order of assignment.
    std::int64_t round = 0;
  };
  // Replies to the next worker that may continue, with the current version. Returns nullopt if no
  // worker may continue. If the rule and `ready` (if set) allow several workers to continue,
  // chooses the one that requested parameters first.
  std::optional<Answer> answer(const std::function<bool(int worker)>& ready = {});

  std::int64_t version() const { return version_; }
  std::int64_t clock(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].clock;
  }  // number of rounds that the worker has pushed
  // number of gradients in the current update so far
  int gradients_in_update() const { return gathered_; }
  bool waits(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].state == State::waits;
  }
  std::int64_t steps() const {
    return rule_.answers_after_update ? version_ : pushed_;
  }  // number of completed steps; for the unit see `allow`
  bool is_exhausted() const { return steps() >= allowed_; }

 private:
  enum class State : std::uint8_t {
    expected,
    waits,
    computes,
    away
  };  // expected: the worker has not joined yet, but others wait for it; away: the worker has left
  struct Worker {
    State state = State::expected;
    std::int64_t clock = 0, version = 0, round = 0;
    std::int64_t pushed_to = -1;  // version to which the worker's last gradient contributed
  };
  bool rounds_left() const;
  bool may_continue(const Worker& worker) const;
  std::int64_t next_round(int worker);
  std::int64_t slowest() const;

  ArrivalRule rule_;
  std::vector<Worker> workers_;
  std::deque<int> asked_;              // waiting workers, in the order they asked
  std::deque<std::int64_t> returned_;  // rounds assigned to workers that left
  std::int64_t version_ = 0, allowed_ = 0, given_ = 0, pushed_ = 0;
  int gathered_ = 0;
};

}  // namespace trainyard::plan
