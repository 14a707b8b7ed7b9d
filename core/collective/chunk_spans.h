// SPDX-License-Identifier: GPL-3.0-or-later
// Where the chunks of a bucket lie in it.
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

// By chunk, as the program numbers them. None, where there are more than can be played
// (kMostPlayedChunks).
std::vector<ChunkSpan> chunk_spans(const Exercise& exercise);

}  // namespace trainyard::collective
