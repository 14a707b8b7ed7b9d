// SPDX-License-Identifier: GPL-3.0-or-later
// A bucket's collective on one rank as one span, from the first begin of its ops to their last end,
// split by the rank's state:
//
//   transfer   a receive moved or added bytes: its peer was ready
//   waiting    no transfer, and a receive was posted
//   sending    neither, and a send was not consumed; only the peer knows if it was ready
//   nothing    none of these: the next op had not begun
#pragma once

#include <vector>

#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

// Returns the pieces of one collective (a receive with its wait, or a send), in order and disjoint.
// `ops`: all its ops on the rank, in any order. Each piece has the program and number of `first`,
// which identify it; together the pieces have the bytes of all ops.
std::vector<OpSpan> pieces_of_bucket(const std::vector<OpSpan>& ops, std::uint16_t first);

// All adjacent pieces of one collective on a track.
struct BucketSpan {
  TimeRange range;
  Nanoseconds waiting = 0, transfer = 0, sending = 0, nothing = 0;  // their sum is the range
  Nanoseconds computing = 0;       // part of the range in which the rank also computed
  double bytes = 0;                // payload sent and received by the rank
  std::size_t first = 0, end = 0;  // indices of the track's pieces
};
// Returns the collective that a piece belongs to.
BucketSpan bucket_at(const SpanStore& store, int rank, const SpanTrack& track, std::size_t piece);

}  // namespace trainyard::ui
