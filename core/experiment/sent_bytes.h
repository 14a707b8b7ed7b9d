// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks send in a whole run by formula, without a plan.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// By rank, payload: what travels of every bucket at every step by the program of its algorithm (for
// the totals see core/collective/algorithm.h; of most 2 (n - 1) S a step, where S is the gradient's
// bytes), of synchronised batch normalisation what is summed in every micro-step (S of 8 (2 C + 1)
// and of 8 (2 C) bytes), of vertical sharding in every micro-step a reduce-scatter and an
// all-gather of rows (member p of n, of rows O numbers of which c[p] are its own: S - c[p] and, by
// direct, (n - 1) c[p], by ring S - c[p + 1]), in every evaluation the former, and of ddp the one
// broadcast of the parameters before the first step. Of local SGD parameters travel as gradients
// do, but only when ranks meet: after every H-th step, for every evaluation, and after the last
// step. Of ranks in a mesh (mesh.h) that split the model: of every micro-batch what crosses between
// stages and what ranks that share layers sum (tensor.h), and, where they do, three numbers of 8
// bytes a segment once a step; buckets of gradients among replicas; and one number a segment where
// clipping goes by it. Of fsdp, and of replicas that shard, what their strategies say
// (core/strategy/strategy.h), within each shard group. 0 for a rank alone. Nothing for strategies
// that reduce in other ways, and other engines.
std::optional<std::vector<std::int64_t>> sent_bytes(const Resolved& experiment);

}  // namespace trainyard::experiment
