// SPDX-License-Identifier: GPL-3.0-or-later
// Spans of a track as columns of pixels: one piece a span where there is room, and one column for
// all that begin in it where there is not. Nothing vanishes: every span is in a piece, and every
// piece has a column at least. The cost grows with the pixels, not the spans.
#pragma once

#include <vector>

#include "ui/model/span_track.h"

namespace trainyard::ui {

// A range of time on so many columns of pixels.
class Columns {
 public:
  Columns(const TimeRange& range, int pixels);

  const TimeRange& range() const { return range_; }
  int pixels() const { return pixels_; }
  double per_nanosecond() const {
    return per_nanosecond_;
  }  // kept: dividing for each span was half of a frame

  int of(Nanoseconds time) const;           // the column it lies in; may be outside
  Nanoseconds begin_of(int column) const;   // the first nanosecond that lies in it
  double position(Nanoseconds time) const;  // in columns, with their parts
  Nanoseconds time_at(double position) const;

 private:
  TimeRange range_;
  int pixels_;
  double per_nanosecond_;
};

struct SpanPiece {
  int left = 0, right = 0;  // columns [left, right) within those asked for
  std::size_t first = 0;    // number of the span, the first of them
  std::size_t spans = 1;
  SpanTimes times;  // of those merged, whole, in nanoseconds; nothing of one alone
};

// Clears `out` first. `limit`: spans from that number on are left out. Says whether any were
// merged.
bool cut_into_pieces(const SpanTrack& track, std::size_t limit, const Columns& columns,
                     std::vector<SpanPiece>& out);

}  // namespace trainyard::ui
