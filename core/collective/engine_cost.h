// SPDX-License-Identifier: GPL-3.0-or-later
// What a collective costs that an engine takes whole, by formula: an estimate, for what the engine does nobody sees.
#pragma once

#include "core/collective/cost.h"

namespace trainyard::collective {

// Seconds on the drawn links. All-reduce: those of a ring over all members (cost.h), as Gloo and NCCL do it for large buckets;
// reduce-scatter and all-gather: the half of one. From and to a root: a binomial tree of the whole bucket, ceil(log2 n) times the longest
// latency and the bytes over the narrowest edge (Thakur, Rabenseifner and Gropp 2005). Fails where two members have no route.
base::Result<double> engine_seconds(Collective collective, const Work& work, const topology::Network& network);

}  // namespace trainyard::collective
