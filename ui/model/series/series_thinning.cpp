// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series/series_thinning.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

// Returns the index of the first point in [begin, end) that the scale can show; `end` if there is
// none.
std::size_t first_drawable(const DrawableValues& values, std::size_t begin, std::size_t end) {
  while (begin < end && !values.drawable(begin)) ++begin;
  return begin;
}
std::size_t end_of_drawable(const DrawableValues& values, std::size_t begin, std::size_t end) {
  while (end > begin && !values.drawable(end - 1)) --end;
  return end;
}

// Returns the index after the last point of the bucket that contains the point `begin`.
std::size_t bucket_end(const PointSeries& series, XAxis axis, double width, std::size_t begin,
                       std::size_t end) {
  const double next = (std::floor(series.x(axis, begin) / width) + 1) * width;
  return std::clamp(series.first_at_or_after(axis, next), begin + 1, end);
}

}  // namespace

double bucket_width(Span span, int pixels) {
  return std::exp2(std::ceil(std::log2(span.width() / std::max(pixels, 1))));
}

void Thinner::reset(const Asked& asked) {
  asked_ = asked;
  open_ = asked.begin;
  result_.points.clear();
  result_.settled = 0;
}

// Adds the point with this index to the result. Indices must not decrease; an index that was
// already added is ignored.
void Thinner::add(const DrawableValues& values, std::size_t index) {
  auto& points = result_.points;
  if (!points.empty() && points.back().index >= index) return;
  points.push_back({index, !points.empty() && values.joined(points.back().index, index)});
}

void Thinner::add_bucket(const DrawableValues& values, std::size_t begin, std::size_t end) {
  const Extremes extremes = values.extremes(begin, end);
  if (!extremes.any) return;
  add(values, std::min(extremes.least, extremes.greatest));
  add(values, std::max(extremes.least, extremes.greatest));
}

void Thinner::add_all(const DrawableValues& values, std::size_t end) {
  for (; open_ < end; ++open_)
    if (values.drawable(open_)) add(values, open_);
  result_.settled = result_.points.size();
}

// Adds the points of all complete buckets. A bucket is complete when the series has a point after
// it.
void Thinner::add_buckets(const PointSeries& series, const DrawableValues& values,
                          std::size_t end) {
  const double width = bucket_width(asked_.span, asked_.pixels);
  if (open_ == asked_.begin) add(values, open_);
  while (open_ < end) {
    const std::size_t next = bucket_end(series, asked_.axis, width, open_, end);
    result_.settled = result_.points.size();
    add_bucket(values, open_, next);
    if (next == end) break;
    open_ = next;
  }
  add(values, end - 1);
}

const Thinned& Thinner::update(const PointSeries& series, XAxis axis, Span span, int pixels,
                               bool log) {
  const DrawableValues& values = series.drawable(log);
  std::size_t begin = series.first_at_or_after(axis, span.low),
              end = series.first_at_or_after(axis, std::nextafter(span.high, HUGE_VAL));
  begin = begin > 0 ? begin - 1 : 0;
  end = std::min(end + 1, series.size());
  begin = first_drawable(values, begin, end);
  end = end_of_drawable(values, begin, end);
  const bool dense =
      end - begin > 2 * static_cast<std::size_t>(std::max(pixels, 1)) && span.width() > 0;
  if (const Asked asked{axis, span, pixels, log, dense, begin}; asked != asked_) reset(asked);
  kept_ = result_.settled;
  result_.points.resize(kept_);
  if (dense) add_buckets(series, values, end);
  else add_all(values, end);
  result_.thinned = dense && result_.points.size() < end - begin;
  return result_;
}

Thinned thin(const PointSeries& series, XAxis axis, Span span, int pixels, bool log) {
  return Thinner().update(series, axis, span, pixels, log);
}

}  // namespace trainyard::ui
