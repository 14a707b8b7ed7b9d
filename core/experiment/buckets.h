// SPDX-License-Identifier: GPL-3.0-or-later
// Gradient buckets, and the largest reduction, by which all-reduce algorithms are compared.
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

// Cuts the gradient into buckets of at least strategy.bucket_bytes, from the last segment to the
// first. A segment is never split, no bucket is empty, and no bucket spans two stages. If
// `experiment` is the experiment as a rank sees it (`of_rank`), returns the buckets of this rank's
// parameters. A table that two stages hold (ties.h) is in no bucket, because it is summed
// separately.
std::vector<Bucket> buckets(const Resolved& experiment);

base::DType gradient_dtype(const Resolved& experiment);

// Returns the largest collective over the gradient, or over values within layers that ranks split.
// `auto` chooses the algorithm for this collective. If nothing is summed, its list of devices is
// empty. This is so in a mesh without replicas, and in rpc if all layers of the trainers are
// remote.
collective::Work largest_reduction(const Resolved& experiment);

}  // namespace trainyard::experiment
