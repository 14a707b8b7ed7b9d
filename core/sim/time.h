// SPDX-License-Identifier: GPL-3.0-or-later
// The virtual clock counts integer picoseconds, so that equal sums compare equal and simulations
// are identical on all machines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace trainyard::sim {

using Picoseconds = std::int64_t;

inline constexpr Picoseconds kSecond = 1'000'000'000'000;
// 46 days: the sum of two such times does not overflow.
inline constexpr Picoseconds kLongest = 4'000'000'000'000'000'000;

inline Picoseconds picoseconds(double seconds) {
  const double count = seconds * static_cast<double>(kSecond);
  return count >= static_cast<double>(kLongest) ? kLongest : std::llround(count);
}
inline double seconds(Picoseconds time) {
  return static_cast<double>(time) / static_cast<double>(kSecond);
}
inline std::int64_t nanoseconds(Picoseconds time) { return time / 1000; }

}  // namespace trainyard::sim
