// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes that ranks send in a full run, computed by formula without a plan.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Returns the payload bytes sent by each rank, as the sum of:
//
// - gradients: the collectives of every bucket at every step by the algorithm's formula
//   (core/collective/algorithm.h; mostly 2 (n - 1) S per step in total, S = gradient bytes);
// - synchronized batch normalization: the all-reduces of every micro-step, S = 8 (2 C + 1)
//   forward and 8 (2 C) backward;
// - vertical sharding: a reduce-scatter and an all-gather of rows in every micro-step, and
//   only the former in evaluations. Member p of n, with rows O numbers of which c[p] are its
//   own, sends S - c[p], and (n - 1) c[p] (direct) or S - c[p + 1] (ring);
// - ddp: one broadcast of the parameters before the first step;
// - batch normalization that is not synchronized: one broadcast of the running statistics of the
//   chief's replica before every evaluation;
// - local SGD: parameters instead of gradients, only after every H-th step, for every
//   evaluation, and after the last step;
// - meshes that split the model (mesh.h): for every micro-batch the activations between
//   stages and the sums of shared layers (tensor.h), then three numbers of 8 bytes per
//   segment once a step; gradient buckets among replicas; and one number per segment if
//   norms are summed;
// - fsdp and sharded replicas: see core/strategy/strategy.h, within each shard group.
//
// Returns zeros for a single rank. Returns nullopt in three cases: the strategy is not listed
// above; the engine is not `own`; running statistics are broadcast by a rank that is not the first
// of its group.
std::optional<std::vector<std::int64_t>> sent_bytes(const Resolved& experiment);

}  // namespace trainyard::experiment
