// SPDX-License-Identifier: GPL-3.0-or-later
// Groups of ranks that evaluate with the same running statistics of batch normalization.
#pragma once

#include <cstdint>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Ranks that evaluate with the running statistics of the rank `root`, which is in the chief's
// replica and one of them.
struct StateGroup {
  int root = 0;
  std::vector<int> ranks;     // ascending
  std::int64_t elements = 0;  // running statistics of a rank
};
// Returns the groups of at least two ranks. Empty if running statistics do not differ between
// ranks, or if a single rank evaluates.
std::vector<StateGroup> state_groups(const Resolved& experiment);

}  // namespace trainyard::experiment
