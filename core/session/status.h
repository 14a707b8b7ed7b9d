// SPDX-License-Identifier: GPL-3.0-or-later
// What a status says of a run besides what stands in it.
#pragma once

#include <algorithm>

#include "core/session/messages.h"

namespace trainyard::session {

// Of the rank that has come furthest. Where ranks go each on its own clock, the status's own step
// is that of the slowest.
inline std::int64_t furthest_step(const Status& status) {
  std::int64_t furthest = status.step;
  for (const RankStatus& rank : status.ranks) furthest = std::max(furthest, rank.step);
  return furthest;
}

}  // namespace trainyard::session
