// SPDX-License-Identifier: GPL-3.0-or-later
// Chain of equal layers, so that their memory can be computed by hand.
#pragma once

#include "core/experiment/experiment.h"
#include "core/run/bind/memory_use.h"

namespace trainyard::tests {

// `width` numbers in and out, four samples at a time.
experiment::Experiment chain(int ranks, int layers, std::int64_t width);

// Bytes of what a layer of kWidth makes of four samples, and of its parameters.
inline constexpr std::int64_t kWidth = 16, kOutput = 4 * kWidth * 4,
                              kLayer = (kWidth + 1) * kWidth * 4;

run::MemoryUse use_of(const experiment::Experiment& e, std::int32_t rank = 0);

}  // namespace trainyard::tests
