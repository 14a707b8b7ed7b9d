// SPDX-License-Identifier: GPL-3.0-or-later
// Gradient buckets, and the largest reduction, by which all-reduce algorithms are compared.
#pragma once

#include <vector>

#include "core/collective/cost.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Segments [first, last] in model order, reduced as one.
struct Bucket {
  int first_segment = 0, last_segment = 0;
  std::int64_t first = 0, count = 0;  // Elements of the flat gradient buffer.
};

// Cuts the gradient into buckets of at least strategy.bucket_bytes, from the last segment to the
// first. A segment is never split, no bucket is empty, and no bucket spans two stages. For a rank's
// local model (`of_rank`), the buckets cover what the rank has, except a table that is in two
// stages (ties.h): that is summed separately.
std::vector<Bucket> buckets(const Resolved& experiment);

base::DType gradient_dtype(const Resolved& experiment);

// Returns the payload of the largest bucket over all ranks that have it, or, if ranks share layers,
// the largest sum inside the layers. `auto` chooses the algorithm by it. The list of devices is
// empty if nothing is summed: a mesh without replicas, or trainers for which all layers are remote.
collective::Work largest_reduction(const Resolved& experiment);

}  // namespace trainyard::experiment
