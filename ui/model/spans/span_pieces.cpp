// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/span_pieces.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

constexpr int kAlone = 2;  // a span that is at least this many columns wide is a piece of its own

// Returns the index after the last span that is drawn together with span `first`, in the same
// column of pixels. A span that is at least kAlone columns wide is drawn alone.
std::size_t end_of_column(const SpanTrack& track, std::size_t first, std::size_t limit,
                          const Columns& columns, int column) {
  if (first + 1 == limit || columns.of(track[first + 1].begin) > column) return first + 1;
  const std::size_t end = std::max(
      track.first_beginning_from(columns.begin_of(column + 1), first + 1, limit), first + 1);
  return end - first > 1 && columns.of(track[end - 1].end) - column >= kAlone ? end - 1 : end;
}

}  // namespace

Columns::Columns(const TimeRange& range, int pixels)
    : range_(range),
      pixels_(pixels),
      per_nanosecond_(std::nextafter(
          pixels / static_cast<double>(std::max<Nanoseconds>(range.width(), 1)), HUGE_VAL)) {
}  // rounded up, so that the end of the range maps to column `pixels`

double Columns::position(Nanoseconds time) const {
  return static_cast<double>(time - range_.begin) * per_nanosecond_;
}

Nanoseconds Columns::time_at(double position) const {
  return range_.begin + static_cast<Nanoseconds>(std::llround(position / per_nanosecond_));
}

// Returns the column of a time. Avoids std::floor, which would take half of the painting time.
int Columns::of(Nanoseconds time) const {
  const double at = std::clamp(position(time), -1e9, 1e9);
  const int cut = static_cast<int>(at);
  return cut - (cut > at ? 1 : 0);
}

Nanoseconds Columns::begin_of(int column) const {
  Nanoseconds time = range_.begin + static_cast<Nanoseconds>(
                                        std::ceil(static_cast<double>(column) / per_nanosecond_));
  while (of(time) < column) ++time;  // corrects rounding
  while (of(time - 1) >= column) --time;
  return time;
}

bool cut_into_pieces(const SpanTrack& track, std::size_t limit, const Columns& columns,
                     std::vector<SpanPiece>& out) {
  out.clear();
  bool merged = false;
  int free = 0;  // first column that no piece covers yet
  for (std::size_t i = track.first_ending_after(columns.range().begin, limit);
       i < limit && track[i].begin < columns.range().end;) {
    const int begin = columns.of(track[i].begin), reached = columns.of(track[i].end);
    const std::size_t end =
        reached - begin >= kAlone ? i + 1 : end_of_column(track, i, limit, columns, begin);
    const int last = end - i == 1 ? reached : begin + 1;
    SpanPiece& piece = out.emplace_back(
        SpanPiece{std::max(begin, free), std::clamp(last, 1, columns.pixels()), i, end - i, {}});
    piece.left = std::min(piece.left, columns.pixels() - 1);
    piece.right = std::max(piece.right, piece.left + 1);
    if (piece.spans > 1) piece.times = track.times_of(i, end), merged = true;
    free = piece.right;
    i = end;
  }
  return merged;
}

}  // namespace trainyard::ui
