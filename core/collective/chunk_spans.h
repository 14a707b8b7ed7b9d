// SPDX-License-Identifier: GPL-3.0-or-later
// Locations of chunks within a bucket.
#pragma once

#include <cstdint>
#include <vector>

#include "core/collective/steps.h"

namespace trainyard::collective {

// Elements [first, first + count) of the bucket.
struct ChunkSpan {
  std::int64_t first = 0, count = 0;
  bool operator==(const ChunkSpan&) const = default;
};

// Returns the span of each chunk, by chunk number. Empty if there are more than kMaxPlayedChunks
// chunks.
std::vector<ChunkSpan> chunk_spans(const Exercise& exercise);

}  // namespace trainyard::collective
