// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series/series.h"

#include <algorithm>
#include <cmath>

#include "core/telemetry/thinned_indices.h"

namespace trainyard::ui {

bool DrawableValues::drawable(std::size_t index) const {
  const double value = values_[index];
  return std::isfinite(value) && (!positive_only_ || value > 0);
}

void DrawableValues::append(double value, bool joined_to_previous) {
  values_.push_back(value);
  const bool fits = drawable(values_.size() - 1);
  if (!fits) skipped_.push_back(static_cast<std::uint32_t>(values_.size() - 1));
  const bool breaks = !fits || !joined_to_previous || broken_;
  broken_ = !fits;
  breaks_.push_back((breaks_.empty() ? 0 : breaks_.back()) + (breaks ? 1 : 0));
  std::size_t span = kFan;
  for (std::size_t level = 0; values_.size() % span == 0; ++level, span *= kFan) raise(level);
}

// Adds the extremes of a block to level `level`: the block whose last value has just been appended.
void DrawableValues::raise(std::size_t level) {
  if (levels_.size() == level) levels_.emplace_back();
  Extremes all;
  if (level == 0) {
    all = of_values(values_.size() - kFan, values_.size());
  } else {
    const auto& below = levels_[level - 1];
    for (std::size_t i = below.size() - kFan; i < below.size(); ++i) include(all, below[i]);
  }
  levels_[level].push_back(all);
}

void DrawableValues::include(Extremes& all, std::uint32_t index) const {
  if (!all.any) all = {true, index, index};
  if (values_[index] < values_[all.least]) all.least = index;
  if (values_[index] > values_[all.greatest]) all.greatest = index;
}

void DrawableValues::include(Extremes& all, const Extremes& part) const {
  if (!part.any) return;
  include(all, part.least);
  include(all, part.greatest);
}

Extremes DrawableValues::of_values(std::size_t begin, std::size_t end) const {
  Extremes all;
  for (std::size_t i = begin; i < end; ++i)
    if (drawable(i)) include(all, static_cast<std::uint32_t>(i));
  return all;
}

// Returns the extremes of the values with indices [begin, end). They are combined from the extremes
// of the largest full blocks inside this range.
Extremes DrawableValues::extremes(std::size_t begin, std::size_t end) const {
  Extremes all;
  while (begin < end) {
    std::size_t level = 0, span = 1;
    while (level < levels_.size() && begin % (span * kFan) == 0 && begin + span * kFan <= end)
      span *= kFan, ++level;
    include(all, level == 0 ? of_values(begin, begin + 1) : levels_[level - 1][begin / span]);
    begin += span;
  }
  return all;
}

void PointSeries::append(const SeriesPoint& point) {
  for (std::size_t axis = 0; axis < kXAxes; ++axis) {
    const double x = point.on(static_cast<XAxis>(axis));
    x_[axis].push_back(x_[axis].empty() ? x : std::max(x, x_[axis].back()));
  }
  values_.push_back(point.value);
  if (point.thinned) thinned_until_ = std::max(thinned_until_, point.step);
}

std::vector<std::size_t> PointSeries::thin_older_half() {
  const std::size_t half = size() / 2;
  std::vector<std::size_t> kept = telemetry::thinned_indices(
      half, [this](std::size_t i) { return x(XAxis::step, i); },
      [this](std::size_t i) { return values_[i]; });
  keep(kept, half);
  return kept;
}

void PointSeries::keep(const std::vector<std::size_t>& kept, std::size_t end) {
  if (end == 0) return;
  thinned_until_ = std::max(thinned_until_, x(XAxis::step, std::min(end, size() - 1)));
  for (std::vector<double>& axis : x_) telemetry::keep_indices(axis, kept, end);
  telemetry::keep_indices(values_, kept, end);
  linear_ = DrawableValues(false);
  log_ = DrawableValues(true);
}

SeriesPoint PointSeries::at(std::size_t index) const {
  return {.step = x(XAxis::step, index),
          .samples = x(XAxis::samples, index),
          .seconds = x(XAxis::seconds, index),
          .value = values_[index],
          .bytes = x(XAxis::bytes, index),
          .simulated = x(XAxis::simulated, index),
          .passes = x(XAxis::passes, index),
          .thinned = x(XAxis::step, index) <= thinned_until_};
}

std::size_t PointSeries::first_at_or_after(XAxis axis, double x) const {
  const auto& xs = x_[static_cast<std::size_t>(axis)];
  return static_cast<std::size_t>(std::lower_bound(xs.begin(), xs.end(), x) - xs.begin());
}

std::size_t PointSeries::nearest(XAxis axis, double wanted) const {
  const std::size_t after = first_at_or_after(axis, wanted);
  if (after == size()) return size() - 1;
  if (after == 0) return 0;
  return wanted - x(axis, after - 1) < x(axis, after) - wanted ? after - 1 : after;
}

bool PointSeries::joined_to_previous(std::size_t index) const {
  if (index == 0 || joining_ == Joining::never) return false;
  return joining_ == Joining::always || x_[0][index] - x_[0][index - 1] <= 1 ||
         x_[0][index] <= thinned_until_;
}

void PointSeries::catch_up(DrawableValues& drawable) const {
  for (std::size_t i = drawable.size(); i < size(); ++i)
    drawable.append(values_[i], joined_to_previous(i));
}

const DrawableValues& PointSeries::drawable(bool log) const {
  DrawableValues& wanted = log ? log_ : linear_;
  catch_up(wanted);
  return wanted;
}

}  // namespace trainyard::ui
