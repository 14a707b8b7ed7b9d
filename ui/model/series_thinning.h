// SPDX-License-Identifier: GPL-3.0-or-later
// Which points of a series are drawn: all of them, or, when there are more than about two a pixel,
// the least and the greatest of every bucket. Buckets are anchored to x values, so a growing line
// does not shimmer, and only its last bucket can change.
#pragma once

#include <vector>

#include "ui/model/series.h"

namespace trainyard::ui {

struct Span {
  double low = 0, high = 1;
  double width() const { return high - low; }
  bool operator==(const Span&) const = default;
};

struct DrawnPoint {
  std::size_t index = 0;
  bool joined = false;  // a line runs to it from the drawn point before it
};

struct Thinned {
  std::vector<DrawnPoint> points;
  std::size_t settled =
      0;  // of them, from the first: points that are appended to the series do not change these
  bool thinned = false;  // some points of the span are not drawn
};

// `pixels`: how wide the span is on screen. One drawable point beyond each end is kept, so that
// lines run off the edge. The first and the last drawable point of the span are always drawn.
Thinned thin(const PointSeries& series, XAxis axis, Span span, int pixels, bool log);

// The same for one series again and again while it grows: what has settled is not looked at again.
class Thinner {
 public:
  const Thinned& update(const PointSeries& series, XAxis axis, Span span, int pixels, bool log);
  std::size_t kept() const {
    return kept_;
  }  // of its points, from the first: as they were before; 0 where it began anew

 private:
  struct Asked {
    XAxis axis{};
    Span span;
    int pixels = 0;
    bool log = false, dense = false;
    std::size_t begin = 0;
    bool operator==(const Asked&) const = default;
  };
  void begin_anew(const Asked& asked);
  void add(const DrawableValues& values, std::size_t index);
  void add_bucket(const DrawableValues& values, std::size_t begin, std::size_t end);
  void add_all(const DrawableValues& values, std::size_t end);
  void add_buckets(const PointSeries& series, const DrawableValues& values, std::size_t end);

  Asked asked_;
  Thinned result_;
  std::size_t open_ = 0;  // the first index that has not settled
  std::size_t kept_ = 0;
};

// Width of the buckets: a power of two of the axis' unit, so that it seldom changes.
double bucket_width(Span span, int pixels);

}  // namespace trainyard::ui
