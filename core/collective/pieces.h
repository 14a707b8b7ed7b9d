// SPDX-License-Identifier: GPL-3.0-or-later
// Division of a bucket into segments, which are pipelined through the rounds, and of each segment
// into chunks.
#pragma once

#include "core/collective/cost.h"

namespace trainyard::collective {

// Lengths of the segments and chunks of a bucket. Lengths of segments differ by at most one
// element; longer segments come first.
struct Pieces {
  std::int64_t elements = 0;
  int element_bytes = 4, segments = 1, chunks = 1;

  Pieces(std::int64_t segment_bytes, const Work& work, int chunks_of_segment)
      : elements(work.elements),
        element_bytes(work.element_bytes),
        segments(collective::segments(work.elements, work.element_bytes, segment_bytes)),
        chunks(chunks_of_segment) {}

  // Number of longer segments; 0 if all segments have the same length.
  int long_segments() const { return static_cast<int>(elements % segments); }
  int segments_of(bool longer) const {
    return longer ? long_segments() : segments - long_segments();
  }
  std::int64_t bytes_of(const Step& step, bool longer) const {
    return span(step, elements / segments + (longer ? 1 : 0), chunks).second * element_bytes;
  }
};

}  // namespace trainyard::collective
