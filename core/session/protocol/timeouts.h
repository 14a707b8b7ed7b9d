// SPDX-License-Identifier: GPL-3.0-or-later
// Timeouts between ranks and coordinator.
#pragma once

#include <cstdint>

namespace trainyard::session {

inline constexpr std::int64_t kStartLimit = 60'000'000'000;  // Nanoseconds for all ranks to start.
// Time limit of a rank, in nanoseconds: it stops after this long without a message from the
// coordinator.
inline constexpr std::int64_t kLease = 10'000'000'000;

}  // namespace trainyard::session
