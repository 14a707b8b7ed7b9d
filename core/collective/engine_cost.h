// SPDX-License-Identifier: GPL-3.0-or-later
// Estimated time and bytes of collectives that an engine (NCCL, Gloo) runs. They come from
// formulas, because the engine's internal traffic is not observable.
#pragma once

#include "core/collective/cost.h"

namespace trainyard::collective {

// Returns the estimated seconds on the drawn links. All-reduce: as a ring over all members
// (cost.h), which Gloo and NCCL use for large buckets. Reduce-scatter and all-gather: half of the
// time of an all-reduce. Collectives with a root: as a binomial tree of the full bucket. That takes
// ceil(log2 n) times the sum of the longest latency and the time of the bucket on the slowest edge
// (Thakur, Rabenseifner and Gropp 2005). Fails if two members have no route.
base::Result<double> engine_seconds(Collective collective, const Work& work,
                                    const topology::Network& network);

// Returns the minimum number of bytes that the rank sends for an op that an engine runs. S: bytes
// of the bucket. All-reduce: 2 (n - 1) / n S; reduce-scatter and all-gather: (n - 1) / n S.
// nccl-tests count the traffic of a rank's link in the same way (nccl-tests, doc/PERFORMANCE.md,
// "bus bandwidth"). Broadcast: S, or 0 for the last member of the chain. Other ops: 0.
std::int64_t engine_bytes(const plan::Op& op, const plan::RankPlan& rank,
                          const std::vector<plan::Group>& groups);
// Returns the bytes that a rank sends for all ops of a full step. If ranks synchronize every H
// steps, these are the bytes of a synchronizing step divided by H, rounded. Returns 0 without an
// engine.
std::int64_t step_engine_bytes(const plan::RankPlan& rank, const std::vector<plan::Group>& groups,
                               const plan::Schedule& schedule);

}  // namespace trainyard::collective
