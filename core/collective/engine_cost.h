// SPDX-License-Identifier: GPL-3.0-or-later
// Estimated time and bytes of collectives that an engine (NCCL, Gloo) runs. They come from
// formulas, because the engine's internal traffic is not observable.
#pragma once

#include "core/collective/cost.h"

namespace trainyard::collective {

// Returns seconds on the drawn links. All-reduce: a ring over all members (cost.h), as in Gloo and
// NCCL for large buckets; reduce-scatter and all-gather: half of that. With a root: a binomial tree
// of the full bucket, ceil(log2 n) times the longest latency and the bytes over the narrowest edge
// (Thakur, Rabenseifner and Gropp 2005). Fails if two members have no route.
base::Result<double> engine_seconds(Collective collective, const Work& work,
                                    const topology::Network& network);

// Returns the bytes that the rank sends at least for an op of its engine; S: bytes of the bucket.
// All-reduce: 2 (n - 1) / n S; reduce-scatter and all-gather: (n - 1) / n S, as nccl-tests count
// the traffic of a rank's link (nccl-tests, doc/PERFORMANCE.md, "bus bandwidth"). Broadcast: S,
// except for the last member of the chain. Other ops: 0.
std::int64_t engine_bytes(const plan::Op& op, const plan::RankPlan& rank,
                          const std::vector<plan::Group>& groups);
// Returns the sum over all ops of a full step. If ranks synchronize every H steps, returns the sum
// of a synchronizing step divided by H, rounded. Returns 0 without an engine.
std::int64_t step_engine_bytes(const plan::RankPlan& rank, const std::vector<plan::Group>& groups,
                               const plan::Schedule& schedule);

}  // namespace trainyard::collective
