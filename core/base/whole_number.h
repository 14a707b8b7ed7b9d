// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::base {

// Returns the number without its fraction, limited to +-2^62. Returns 0 for NaN. A plain conversion
// of a number that does not fit is undefined.
inline std::int64_t whole_number(double value) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  if (value != value) return 0;
  if (value >= static_cast<double>(kMost)) return kMost;
  return value <= -static_cast<double>(kMost) ? -kMost : static_cast<std::int64_t>(value);
}

}  // namespace trainyard::base
