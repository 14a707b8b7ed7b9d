// SPDX-License-Identifier: GPL-3.0-or-later
// What data-parallel strategies have in common: a whole model on a rank, its buffers, and the compute ops of a step. A
// strategy says which groups sum which buckets; without groups nothing is sent.
#pragma once

#include <vector>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Segments [first, last] in model order, reduced as one.
struct Bucket {
  int first_segment = 0, last_segment = 0;
  std::int64_t first = 0, count = 0;  // elements of the flat gradient buffer
};

// Cuts the gradient into buckets of at least strategy.bucket_bytes, from the last segment to the first. A segment is never cut.
std::vector<Bucket> buckets(const experiment::Resolved& experiment);

// The plan of one rank: programs train, and where needed tail, evaluate and evaluate_tail. `group` is the number of the
// group that sums every bucket, -1 for none.
plan::RankPlan replica(const experiment::Resolved& experiment, std::int32_t rank, const std::vector<Bucket>& buckets, std::int32_t group);

plan::Schedule schedule(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
