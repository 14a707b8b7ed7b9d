// SPDX-License-Identifier: GPL-3.0-or-later
// Account of a rank's time by activity. If several activities are in progress, the time counts for
// the one that is first in the enum.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "core/sim/time.h"

namespace trainyard::sim {

enum class Activity : std::size_t { computing, loading, adding, crossing, waiting };
inline constexpr std::size_t kActivities = 5;

using Times = std::array<Picoseconds, kActivities>;

class TimeAccount {
 public:
  void start(Activity activity, Picoseconds now) {
    settle(now);
    ++under_way_[static_cast<std::size_t>(activity)];
  }
  void stop(Activity activity, Picoseconds now) {
    settle(now);
    --under_way_[static_cast<std::size_t>(activity)];
  }

  // Returns the time that the rank spent on each activity since the last call, or since time 0.
  Times take(Picoseconds now) {
    settle(now);
    return std::exchange(times_, Times{});
  }

 private:
  void settle(Picoseconds now) {
    std::size_t activity = 0;
    while (activity < under_way_.size() && under_way_[activity] == 0) ++activity;
    times_[activity] += now - since_;
    since_ = now;
  }

  // Number of operations in progress, by activity. While all are 0, the rank is waiting.
  std::array<int, kActivities - 1> under_way_{};
  Times times_{};
  Picoseconds since_ = 0;
};

}  // namespace trainyard::sim
