// SPDX-License-Identifier: GPL-3.0-or-later
// What is reduced as one, and what an all-reduce algorithm is judged by.
#pragma once

#include <vector>

#include "core/collective/cost.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Segments [first, last] in model order, reduced as one.
struct Bucket {
  int first_segment = 0, last_segment = 0;
  std::int64_t first = 0, count = 0;  // elements of the flat gradient buffer
};

// Cuts the gradient into buckets of at least strategy.bucket_bytes, from the last segment to the
// first. A segment is never cut, no bucket is empty, and none is of two stages. Of a rank's own
// model, those of what it has, but for a table that is in two stages (ties.h): that is summed by
// itself.
std::vector<Bucket> buckets(const Resolved& experiment);

base::DType gradient_dtype(const Resolved& experiment);

// What travels of the bucket of which most does, over all ranks that have it; or where ranks share
// layers the most that is summed inside of these. By it `auto` chooses. Without devices where
// neither is summed: of a mesh without replicas, or of trainers that call all layers.
collective::Work largest_reduction(const Resolved& experiment);

}  // namespace trainyard::experiment
