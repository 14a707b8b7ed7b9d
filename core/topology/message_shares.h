// SPDX-License-Identifier: GPL-3.0-or-later
// Shares of a message, for messages that are split over several links. Shares are integers, so that
// all machines, and the simulator and the ranks, compute the same times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace trainyard::topology {

inline constexpr std::int32_t kFullShare = 1 << 20;  // the share of a message that is not split

// Returns the part of `amount` (bytes or a rate) that a share gets, rounded down.
inline std::int64_t part_of(std::int64_t amount, std::int32_t share) {
  if (share == kFullShare) return amount;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(amount) * share / kFullShare);
}

// Returns the rate of a full message if messages whose shares add up to `shares` use the rate
// `rate` of a link; at least 1.
inline std::int64_t full_rate(std::int64_t rate, std::int64_t shares) {
  if (shares == kFullShare) return std::max<std::int64_t>(1, rate);
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(std::clamp<Wide>(static_cast<Wide>(rate) * kFullShare / shares,
                                                    1, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace trainyard::topology
