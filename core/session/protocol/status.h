// SPDX-License-Identifier: GPL-3.0-or-later
// Values derived from a Status.
#pragma once

#include <algorithm>

#include "core/session/protocol/messages.h"

namespace trainyard::session {

// Returns the step of the rank that is furthest ahead. If ranks proceed at their own speeds,
// `status.step` is the slowest rank's step.
inline std::int64_t furthest_step(const Status& status) {
  std::int64_t furthest = status.step;
  for (const RankStatus& rank : status.ranks) furthest = std::max(furthest, rank.step);
  return furthest;
}

}  // namespace trainyard::session
