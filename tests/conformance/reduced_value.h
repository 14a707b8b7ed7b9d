// SPDX-License-Identifier: GPL-3.0-or-later
// Expected result of a reduction over ranks, computed in double.
#pragma once

#include <algorithm>

#include "core/base/reduction.h"

namespace trainyard::tests {

// `given(rank)`: what a rank has.
template <class Given>
double reduced_value(base::Reduction reduction, int ranks, const Given& given) {
  auto result = static_cast<double>(given(0));
  for (int rank = 1; rank < ranks; ++rank) {
    const auto next = static_cast<double>(given(rank));
    if (reduction == base::Reduction::min) result = std::min(result, next);
    else if (reduction == base::Reduction::max) result = std::max(result, next);
    else result += next;
  }
  return reduction == base::Reduction::mean ? result / ranks : result;
}

}  // namespace trainyard::tests
