// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <ctime>

namespace trainyard::session {

// CLOCK_REALTIME in nanoseconds, since 1970.
inline std::int64_t wall_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Clocks of another machine relative to this one's: its time minus ours.
struct ClockOffset {
  double seconds = 0;              // CLOCK_MONOTONIC, which all times of events use
  double wall_seconds = 0;         // CLOCK_REALTIME
  double uncertainty_seconds = 0;  // half the shortest round trip
};

}  // namespace trainyard::session
