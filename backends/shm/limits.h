// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of the shared-memory transport.
#pragma once

#include <cstddef>

namespace trainyard::shm {

constexpr std::size_t kMaxStagedBytes = std::size_t{64} << 10;
constexpr int kMaxRanks = 1024;
constexpr int kMaxChannels = 64;

}  // namespace trainyard::shm
