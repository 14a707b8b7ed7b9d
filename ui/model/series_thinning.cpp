// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series_thinning.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

class Drawing {
 public:
  Drawing(const DrawableValues& values, std::size_t capacity) : values_(values) { result_.points.reserve(capacity); }

  // Indices must not fall; one that was just added is not added again.
  void add(std::size_t index) {
    auto& points = result_.points;
    if (!points.empty() && points.back().index >= index) return;
    points.push_back({index, !points.empty() && values_.joined(points.back().index, index)});
  }

  Thinned take(std::size_t available) {
    result_.thinned = result_.points.size() < available;
    return std::move(result_);
  }

 private:
  const DrawableValues& values_;
  Thinned result_;
};

void add_all(Drawing& drawing, const DrawableValues& values, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (values.drawable(i)) drawing.add(i);
}

void add_bucket(Drawing& drawing, const DrawableValues& values, std::size_t begin, std::size_t end) {
  const Extremes extremes = values.extremes(begin, end);
  if (!extremes.any) return;
  drawing.add(std::min(extremes.least, extremes.greatest));
  drawing.add(std::max(extremes.least, extremes.greatest));
}

// The nearest drawable point of [begin, end), looked for from one end.
std::size_t first_drawable(const DrawableValues& values, std::size_t begin, std::size_t end) {
  while (begin < end && !values.drawable(begin)) ++begin;
  return begin;
}
std::size_t end_of_drawable(const DrawableValues& values, std::size_t begin, std::size_t end) {
  while (end > begin && !values.drawable(end - 1)) --end;
  return end;
}

// Past the last point of the bucket that `begin` lies in.
std::size_t bucket_end(const PointSeries& series, XAxis axis, double width, std::size_t begin, std::size_t end) {
  const double next = (std::floor(series.x(axis, begin) / width) + 1) * width;
  return std::clamp(series.first_at_or_after(axis, next), begin + 1, end);
}

}  // namespace

double bucket_width(Span span, int pixels) { return std::exp2(std::ceil(std::log2(span.width() / std::max(pixels, 1)))); }

Thinned thin(const PointSeries& series, XAxis axis, Span span, int pixels, bool log) {
  const DrawableValues& values = series.drawable(log);
  std::size_t begin = series.first_at_or_after(axis, span.low), end = series.first_at_or_after(axis, std::nextafter(span.high, HUGE_VAL));
  begin = begin > 0 ? begin - 1 : 0;
  end = std::min(end + 1, series.size());
  begin = first_drawable(values, begin, end);
  end = end_of_drawable(values, begin, end);
  const std::size_t many = 2 * static_cast<std::size_t>(std::max(pixels, 1));
  Drawing drawing(values, std::min(end - begin, many + many));
  if (end - begin <= many || span.width() <= 0) {
    add_all(drawing, values, begin, end);
    return drawing.take(0);
  }
  const double width = bucket_width(span, pixels);
  drawing.add(begin);
  for (std::size_t i = begin; i < end;) {
    const std::size_t next = bucket_end(series, axis, width, i, end);
    add_bucket(drawing, values, i, next);
    i = next;
  }
  drawing.add(end - 1);
  return drawing.take(end - begin);
}

}  // namespace trainyard::ui
