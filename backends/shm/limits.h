// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of the transport.
#pragma once

#include <cstddef>

namespace trainyard::shm {

constexpr std::size_t kMaximumStagedBytes = std::size_t{64} << 10;
constexpr int kMaximumRanks = 1024;
constexpr int kMaximumChannels = 64;

}  // namespace trainyard::shm
