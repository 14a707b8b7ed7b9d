// SPDX-License-Identifier: GPL-3.0-or-later
// Gradient buckets, and the largest collective of an experiment, by whose cost all-reduce
// algorithms are compared.
#pragma once

#include <vector>

#include "core/collective/cost.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Segments [first, last] in model order, whose gradients are reduced in one collective.
struct Bucket {
  int first_segment = 0, last_segment = 0;
  std::int64_t first = 0, count = 0;  // Elements of the flat gradient buffer.
};

// Cuts the gradient into buckets of at least strategy.bucket_bytes, from the last segment of the
// model to the first. A segment is never split, no bucket is empty, and no bucket spans two stages.
// For an experiment as one rank sees it (`of_rank`), the buckets cover only the parameters of this
// rank. A table that two stages hold (ties.h) is in no bucket, because its gradient is summed
// separately.
std::vector<Bucket> buckets(const Resolved& experiment);

base::DType gradient_dtype(const Resolved& experiment);

// Returns the largest collective that sums gradients, or values within layers that ranks split.
// `auto` chooses the algorithm that is fastest for this collective. If no rank sums anything, the
// returned list of devices is empty: in a mesh without replicas, and in rpc if all layers of the
// trainers are remote.
collective::Work largest_reduction(const Resolved& experiment);

}  // namespace trainyard::experiment
