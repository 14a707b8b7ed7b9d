// SPDX-License-Identifier: GPL-3.0-or-later
// Intended duration of a rank's compute ops. An op of a straggler (a rank slowed on purpose) takes
// a multiple of its real time, with jitter per step. On a device paced to its drawn speed, an op
// takes the simulator's time, or its real time if that is longer.
//
// factor of a step = slow_down (1 + jitter u),
//   u = uniform(seed, straggler, rank, step) in [0, 1)
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace trainyard::run {

// Times of a rank's ops on its drawn device, in nanoseconds, by program and index of the op.
struct OpTimes {
  std::vector<std::vector<std::int64_t>> nanoseconds;
};

inline constexpr std::int64_t kMaxSleep =
    2'000'000;  // maximum nanoseconds of a sleep before the thread checks for a stop

class SlowdownModel {
 public:
  SlowdownModel(std::int64_t seed, int rank, double slow_down, double jitter, OpTimes drawn = {});

  // Sets the slowdown, with immediate effect. May be called by any thread.
  void set(double slow_down, double jitter);

  bool paced() const { return !drawn_.nanoseconds.empty(); }
  // True if ops of this rank may currently be slowed.
  bool active() const;
  double factor(std::int64_t step) const;
  // Returns the intended duration, in nanoseconds, of an op whose real duration is `real_ns`.
  std::int64_t target_ns(int program, int op, std::int64_t step, std::int64_t real_ns) const;
  // Returns by how many nanoseconds the op took longer than on the drawn device; 0 if the device is
  // not paced.
  std::int64_t lateness_ns(int program, int op, std::int64_t step, std::int64_t real_ns) const;

 private:
  std::int64_t drawn_ns(int program, int op, std::int64_t step) const;
  struct Asked {
    float slow_down = 1, jitter = 0;
  };
  static_assert(std::atomic<Asked>::is_always_lock_free);

  std::uint64_t seed_;
  std::uint32_t rank_;
  std::atomic<Asked> asked_;
  OpTimes drawn_;
};

}  // namespace trainyard::run
