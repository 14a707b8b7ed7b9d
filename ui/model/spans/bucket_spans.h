// SPDX-License-Identifier: GPL-3.0-or-later
// Span of the full collective of a bucket on one rank. It is combined from the pieces of the
// collective (bucket_pieces.h).
#pragma once

#include <cstddef>

#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

// All pieces of one collective, which are adjacent on a track.
struct BucketSpan {
  TimeRange range;
  // Total time of the collective in each state of bucket_pieces.h. The sum is the length of
  // `range`.
  Nanoseconds waiting = 0, transfer = 0, sending = 0, nothing = 0;
  Nanoseconds computing = 0;       // part of the range in which the rank also computed
  double bytes = 0;                // payload sent and received by the rank
  std::size_t first = 0, end = 0;  // indices of the track's pieces
};
// Returns the span of the collective to which a piece belongs.
BucketSpan bucket_at(const SpanStore& store, int rank, const SpanTrack& track, std::size_t piece);

}  // namespace trainyard::ui
