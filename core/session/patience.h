// SPDX-License-Identifier: GPL-3.0-or-later
// How long ranks and coordinator wait for each other.
#pragma once

#include <cstdint>

namespace trainyard::session {

inline constexpr std::int64_t kStartLimit = 60'000'000'000;  // ns for everything to start
inline constexpr std::int64_t kLease = 10'000'000'000;  // ns without a word from the coordinator

}  // namespace trainyard::session
