// SPDX-License-Identifier: GPL-3.0-or-later
// A bucket's collective on one rank as one span (bucket_pieces.h).
#pragma once

#include <cstddef>

#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

// All adjacent pieces of one collective on a track.
struct BucketSpan {
  TimeRange range;
  // durations of the pieces by state, which add up to the range
  Nanoseconds waiting = 0, transfer = 0, sending = 0, nothing = 0;
  Nanoseconds computing = 0;       // part of the range in which the rank also computed
  double bytes = 0;                // payload sent and received by the rank
  std::size_t first = 0, end = 0;  // indices of the track's pieces
};
// Returns the collective that a piece belongs to.
BucketSpan bucket_at(const SpanStore& store, int rank, const SpanTrack& track, std::size_t piece);

}  // namespace trainyard::ui
