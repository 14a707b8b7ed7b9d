// SPDX-License-Identifier: GPL-3.0-or-later
// How long a compute op of a rank shall take: a straggler's so many times what it took, with a
// jitter by step; that of a device which is paced to its drawn speed as long as the simulator says,
// and no shorter than it took.
//
//   factor of a step = slow_down (1 + jitter u), u = uniform(seed, straggler, rank, step) in [0, 1)
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace trainyard::run {

// Of a rank's ops on its drawn device, by program and op.
struct OpTimes {
  std::vector<std::vector<std::int64_t>> nanoseconds;
};

inline constexpr std::int64_t kLongestSleep =
    2'000'000;  // ns, of what is held back: then it looks whether it was told to stop

class Slowness {
 public:
  Slowness(std::int64_t seed, int rank, double slow_down, double jitter, OpTimes drawn = {});

  // From now on. Any thread.
  void set(double slow_down, double jitter);

  bool paced() const { return !drawn_.nanoseconds.empty(); }
  // Whether an op may be made longer now.
  bool active() const;
  double factor(std::int64_t step) const;
  // Nanoseconds of an op that took `real_ns` by itself.
  std::int64_t shall_take(int program, int op, std::int64_t step, std::int64_t real_ns) const;
  // By how much it took longer than the drawn device would have; 0 where that is not paced to.
  std::int64_t late_by(int program, int op, std::int64_t step, std::int64_t real_ns) const;

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
