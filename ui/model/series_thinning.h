// SPDX-License-Identifier: GPL-3.0-or-later
// Which points of a series are drawn: all of them, or, when there are more than about two a pixel, the least and the
// greatest of every bucket. Buckets are anchored to x values, so a growing line does not shimmer.
#pragma once

#include <vector>

#include "ui/model/series.h"

namespace trainyard::ui {

struct Span {
  double low = 0, high = 1;
  double width() const { return high - low; }
};

struct DrawnPoint {
  std::size_t index = 0;
  bool joined = false;  // a line runs to it from the drawn point before it
};

struct Thinned {
  std::vector<DrawnPoint> points;
  bool thinned = false;  // some points of the span are not drawn
};

// `pixels`: how wide the span is on screen. One drawable point beyond each end is kept, so that lines run off the edge. The
// first and the last drawable point of the span are always drawn.
Thinned thin(const PointSeries& series, XAxis axis, Span span, int pixels, bool log);

// Width of the buckets: a power of two of the axis' unit, so that it seldom changes.
double bucket_width(Span span, int pixels);

}  // namespace trainyard::ui
