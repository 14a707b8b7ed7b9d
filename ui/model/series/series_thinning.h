// SPDX-License-Identifier: GPL-3.0-or-later
// Selection of the points of a series to draw. If there are more than about two points per pixel,
// only the minimum and maximum of each bucket are drawn. Buckets have fixed positions in x, so that
// a growing line does not shimmer, and only its last bucket can change.
#pragma once

#include <vector>

#include "ui/model/series/series.h"

namespace trainyard::ui {

struct Span {
  double low = 0, high = 1;
  double width() const { return high - low; }
  bool operator==(const Span&) const = default;
};

struct DrawnPoint {
  std::size_t index = 0;
  bool joined = false;  // true if a line joins this point to the previous drawn point
};

struct Thinned {
  std::vector<DrawnPoint> points;
  std::size_t settled = 0;  // number of leading points that do not change when the series grows
  bool thinned = false;     // true if some points of the span were omitted
};

// Selects the points of a range in x, which is `pixels` wide on screen. The first and last drawable
// points of the range are always included. The next drawable point beyond each end is included too,
// so that the line continues to the edge.
Thinned thin(const PointSeries& series, XAxis axis, Span span, int pixels, bool log);

// Incremental thinning of one growing series. Complete buckets are not computed again.
class Thinner {
 public:
  const Thinned& update(const PointSeries& series, XAxis axis, Span span, int pixels, bool log);
  std::size_t kept() const {
    return kept_;
  }  // number of leading points that the last update did not change; 0 after a restart

 private:
  struct Asked {
    XAxis axis{};
    Span span;
    int pixels = 0;
    bool log = false, dense = false;
    std::size_t begin = 0;
    bool operator==(const Asked&) const = default;
  };
  void reset(const Asked& asked);
  void add(const DrawableValues& values, std::size_t index);
  void add_bucket(const DrawableValues& values, std::size_t begin, std::size_t end);
  void add_all(const DrawableValues& values, std::size_t end);
  void add_buckets(const PointSeries& series, const DrawableValues& values, std::size_t end);

  Asked asked_;
  Thinned result_;
  std::size_t open_ = 0;  // first index that is not in a complete bucket
  std::size_t kept_ = 0;
};

// Returns the bucket width in units of the x axis. It is a power of two, so that it seldom changes.
double bucket_width(Span span, int pixels);

}  // namespace trainyard::ui
