// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/chunk_spans.h"

namespace trainyard::collective {

std::vector<ChunkSpan> chunk_spans(const Exercise& exercise) {
  const int cuts =
      is_sharded(exercise.collective)
          ? 1
          : segments(exercise.elements, static_cast<int>(base::size_of(exercise.dtype)),
                     exercise.segment_bytes);
  const int parts = chunks(exercise.collective, exercise.algorithm, formation(exercise.hosts));
  if (cuts * parts > kMaxPlayedChunks) return {};
  std::vector<ChunkSpan> spans;
  for (int segment = 0; segment < cuts; ++segment) {
    const auto [begin, length] = part(exercise.elements / exercise.row, cuts, segment);
    for (int chunk = 0; chunk < parts; ++chunk) {
      const auto [first, count] = part(length, parts, chunk);
      spans.push_back({(begin + first) * exercise.row, count * exercise.row});
    }
  }
  return spans;
}

}  // namespace trainyard::collective
