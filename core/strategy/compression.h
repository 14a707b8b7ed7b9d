// SPDX-License-Identifier: GPL-3.0-or-later
// What gradient compression adds to a replica's plan: an op ENC before a bucket's collective, which
// works on the buffer `encoded`, and an op DEC after it. Of power_sgd a second ENC and a second
// collective stand between.
#pragma once

#include <vector>

#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// Appends them to `list`. The collectives of a bucket: the first has the bucket's number, the
// second a number after those of all buckets.
CompressionBuffers compression_buffers(const experiment::Resolved& experiment, std::int32_t rank,
                                       const std::vector<Bucket>& buckets,
                                       std::vector<plan::Buffer>& list);

// Without lane and dependencies. `stage`: which of the bucket's collectives it is for. The rate
// says the step.
plan::Op encode(const Replica& replica, std::int32_t bucket, std::size_t stage);
plan::Op decode(const Replica& replica, std::int32_t bucket);

}  // namespace trainyard::strategy
