// SPDX-License-Identifier: GPL-3.0-or-later
// Timeouts between ranks and coordinator.
#pragma once

#include <cstdint>

namespace trainyard::session {

// Time limit in nanoseconds until all ranks have started.
inline constexpr std::int64_t kStartLimit = 60'000'000'000;
// Time limit of a rank, in nanoseconds: it stops after this long without a message from the
// coordinator.
inline constexpr std::int64_t kLease = 10'000'000'000;
// If a rank itself is suspended longer than this many nanoseconds, the time does not count as
// silence of the coordinator.
inline constexpr std::int64_t kOwnPause = 1'000'000'000;

}  // namespace trainyard::session
