// SPDX-License-Identifier: GPL-3.0-or-later
// What a collective costs that an engine takes whole, and sends, by formula: estimates, for what
// the engine does nobody sees.
#pragma once

#include "core/collective/cost.h"

namespace trainyard::collective {

// Seconds on the drawn links. All-reduce: those of a ring over all members (cost.h), as Gloo and
// NCCL do it for large buckets; reduce-scatter and all-gather: the half of one. From and to a root:
// a binomial tree of the whole bucket, ceil(log2 n) times the longest latency and the bytes over
// the narrowest edge (Thakur, Rabenseifner and Gropp 2005). Fails where two members have no route.
base::Result<double> engine_seconds(Collective collective, const Work& work,
                                    const topology::Network& network);

// Bytes that the rank sends at least for an op that its engine takes whole, S those of the bucket:
// of an all-reduce 2 (n - 1) / n S, of reduce-scatter and all-gather (n - 1) / n S, as nccl-tests
// count what crosses the link of a rank (doc/PERFORMANCE.md, "bus bandwidth"); of a broadcast S,
// but for the member at the end of the chain. Of other ops 0.
std::int64_t engine_bytes(const plan::Op& op, const plan::RankPlan& rank,
                          const std::vector<plan::Group>& groups);
// Of all ops of a full step; where ranks meet after every H-th step alone, in such a one / H,
// rounded. 0 where no engine takes any.
std::int64_t step_engine_bytes(const plan::RankPlan& rank, const std::vector<plan::Group>& groups,
                               const plan::Schedule& schedule);

}  // namespace trainyard::collective
