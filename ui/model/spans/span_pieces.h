// SPDX-License-Identifier: GPL-3.0-or-later
// Mapping from the spans of a track to columns of pixels. A span that is wide enough is drawn as
// one piece. Other spans that begin in the same column are drawn together as one piece. Every span
// belongs to a piece, and every piece has at least one column. The cost grows with the number of
// pixels, not with the number of spans.
#pragma once

#include <vector>

#include "ui/model/spans/span_track.h"

namespace trainyard::ui {

// Mapping from a range of time to `pixels` columns of pixels.
class Columns {
 public:
  Columns(const TimeRange& range, int pixels);

  const TimeRange& range() const { return range_; }
  int pixels() const { return pixels_; }
  double per_nanosecond() const {
    return per_nanosecond_;
  }  // quotient, stored because a division per span took half of a frame

  int of(Nanoseconds time) const;           // column of a time; may be outside of [0, n)
  Nanoseconds begin_of(int column) const;   // first nanosecond of a column
  double position(Nanoseconds time) const;  // like `of`, but with a fraction
  Nanoseconds time_at(double position) const;

 private:
  TimeRange range_;
  int pixels_;
  double per_nanosecond_;
};

struct SpanPiece {
  int left = 0, right = 0;  // columns [left, right), clipped to the range
  std::size_t first = 0;    // index of the piece's first span
  std::size_t spans = 1;
  // Times of all spans that are merged in this piece, including their parts outside of the piece's
  // columns. Empty if the piece is a single span.
  SpanTimes times;
};

// Replaces the content of `out` by the pieces of all spans with an index below `limit`. Returns
// true if any spans were merged.
bool cut_into_pieces(const SpanTrack& track, std::size_t limit, const Columns& columns,
                     std::vector<SpanPiece>& out);

}  // namespace trainyard::ui
