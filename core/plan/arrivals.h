// SPDX-License-Identifier: GPL-3.0-or-later
// The readiness rule of a parameter server: when a gradient that arrived becomes part of an update,
// when it comes too late, and when the worker that brought it may have parameters again. Server,
// simulator and virtual clock share it; it holds no numbers of a model and knows no time.
//
// A worker's round: it pulls, and has the parameters of one version; it computes; it pushes, which
// asks for the next pull too. The version counts updates. An update is made of
// `gradients_per_update` gradients:
//
//   asynchronous            1       answered at once
//   n-softsync              λ / n   answered at once        (Zhang, Gupta, Lian, Liu 2016: staleness-aware asynchronous SGD)
//   stale-synchronous, s    1       answered at once, unless it is more than s rounds ahead of the slowest (Ho et al. 2013: SSP)
//   synchronous             λ       answered after the update
//   b backup workers        λ - b   answered after the update; what comes after it is dropped (Chen et al. 2016: revisiting synchronous SGD)
//
// Staleness of a gradient: version when it is applied minus version when its worker pulled.
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
  bool answers_after_update = false;  // then also: gradients of an older version are dropped
  std::int64_t clock_bound =
      -1;  // rounds that a worker may be ahead of the slowest; -1: any number

  bool operator==(const ArrivalRule&) const = default;
};

class Arrivals {
 public:
  explicit Arrivals(const ArrivalRule& rule);

  // Before all else: so many updates and steps are made already.
  void go_on_from(std::int64_t version, std::int64_t steps);
  // How far it may go: in step so many updates, else so many rounds. Only grows.
  void allow(std::int64_t steps);

  // A worker asks for its first parameters, now or after it was lost.
  void join(int worker);
  // It is gone: nobody waits for it. The round that it was given and never pushed goes to who asks
  // next.
  void leave(int worker);

  struct Push {
    std::int64_t pulled = 0;  // version that it was computed by
    std::int64_t staleness =
        0;  // version now minus that; of what is dropped, by how much it came too late
    std::int64_t round = 0;  // of all rounds that were given: which this was
    bool dropped = false;
    bool completes = false;  // the update is whole with it: the version is one higher from now on
  };
  // A worker that has parameters brings what it made of them, and asks for the next.
  Push push(int worker);

  struct Answer {
    int worker = 0;
    std::int64_t version = 0;
    std::int64_t round = 0;  // by which samples are dealt out; of synchronous rules version λ +
                             // worker, else as they are given
  };
  // Somebody who asked, may go on, and is told so: the one that asked first, of those that may, and
  // that `ready` says it of where it is given. Its version is the one of now.
  std::optional<Answer> answer(const std::function<bool(int worker)>& ready = {});

  std::int64_t version() const { return version_; }
  std::int64_t clock(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].clock;
  }                                                      // rounds that it has pushed
  int gradients_in_update() const { return gathered_; }  // of the one that is being gathered
  bool waits(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].state == State::waits;
  }
  std::int64_t steps() const {
    return rule_.answers_after_update ? version_ : pushed_;
  }  // that are made, as `allow` counts them
  bool spent() const { return steps() >= allowed_; }

 private:
  enum class State : std::uint8_t {
    expected,
    waits,
    computes,
    away
  };  // it has not come yet, and is waited for; ...; it has left
  struct Worker {
    State state = State::expected;
    std::int64_t clock = 0, version = 0, round = 0;
    std::int64_t pushed_to = -1;  // the version that its last gradient makes the next of
  };
  bool rounds_left() const;
  bool may_go_on(const Worker& worker) const;
  std::int64_t next_round(int worker);
  std::int64_t slowest() const;

  ArrivalRule rule_;
  std::vector<Worker> workers_;
  std::deque<int> asked_;              // in order
  std::deque<std::int64_t> returned_;  // rounds that were given to workers which left
  std::int64_t version_ = 0, allowed_ = 0, given_ = 0, pushed_ = 0;
  int gathered_ = 0;
};

}  // namespace trainyard::plan
