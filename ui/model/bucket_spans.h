// SPDX-License-Identifier: GPL-3.0-or-later
// A bucket's collective on one rank as one span: from the first begin of its ops to their last end,
// told apart by what the rank did for it.
//
//   transfer   a receive moved or added bytes: it had its peer
//   waiting    none did, and a receive was posted
//   sending    neither, and a send was not consumed; whether its peer was there yet, only that peer knows
//   nothing    none of these: the next op had not begun
#pragma once

#include <vector>

#include "ui/model/span_store.h"

namespace trainyard::ui {

// The pieces of one collective, in order and apart from each other: a receive that first waits, or
// a send. `ops`: all its ops on the rank, in any order. They have program and number of `first`,
// which name it, and together the bytes of all.
std::vector<OpSpan> pieces_of_bucket(const std::vector<OpSpan>& ops, std::uint16_t first);

// All pieces of one collective that stand together on a track.
struct BucketSpan {
  TimeRange range;
  Nanoseconds waiting = 0, transfer = 0, sending = 0, nothing = 0;  // make the range
  Nanoseconds computing = 0;       // of the range, in which the rank computed as well
  double bytes = 0;                // payload that it sent and received
  std::size_t first = 0, end = 0;  // pieces of the track
};
// Of the collective that a piece belongs to.
BucketSpan bucket_at(const SpanStore& store, int rank, const SpanTrack& track, std::size_t piece);

}  // namespace trainyard::ui
