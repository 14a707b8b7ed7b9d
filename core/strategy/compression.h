// SPDX-License-Identifier: GPL-3.0-or-later
// Adds gradient compression to a replica's plan: an op ENC before each bucket's collective, and an
// op DEC after it. The collective then transfers buffer `encoded`. power_sgd has a second ENC and a
// second collective in between.
#pragma once

#include <vector>

#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// Appends the buffers of compression to `list`. A bucket's first collective has the number of the
// bucket. The second collectives of all buckets have the numbers after those of the first
// collectives.
CompressionBuffers compression_buffers(const experiment::Resolved& experiment, std::int32_t rank,
                                       const std::vector<Bucket>& buckets,
                                       std::vector<plan::Buffer>& list);

// These functions return an encode or decode op without lane and dependencies. `stage`: index of
// the collective among the collectives of the bucket. The op reads the step from the buffer "rate".
plan::Op encode(const Replica& replica, std::int32_t bucket, std::size_t stage);
plan::Op decode(const Replica& replica, std::int32_t bucket);

}  // namespace trainyard::strategy
