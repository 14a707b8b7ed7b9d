// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/random.h"

namespace trainyard::data {

// Writes a uniformly random permutation of 0 .. order.size() - 1 (Fisher-Yates; Knuth, TAOCP 2,
// 3.4.2, algorithm P).
inline void permute(std::span<std::int64_t> order, const base::Random& random) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t last = order.size(); last-- > 1;)
    std::swap(order[last], order[random.below(last, last + 1)]);
}

}  // namespace trainyard::data
