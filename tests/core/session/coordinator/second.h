// SPDX-License-Identifier: GPL-3.0-or-later
// Clocks of tests are wound in nanoseconds.
#pragma once

#include <cstdint>

namespace trainyard::session {

inline constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace trainyard::session
