// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the upper limits of the lines' values and of the y axes of a plot.
#include <algorithm>
#include <cmath>

#include "ui/charts/plot_model.h"
#include "ui/charts/plot_scale.h"
#include "ui/model/series/series_quantile.h"

namespace trainyard::ui {
namespace {

constexpr double kNearlyAll = 0.99;
// Values above the axis limit are cut off only if the axis would otherwise be more than this many
// times as long.
constexpr double kMinClipRatio = 4;

std::optional<Span> united(const std::optional<Span>& a, const std::optional<Span>& b) {
  if (!a || !b) return a ? a : b;
  return Span{std::min(a->low, b->low), std::max(a->high, b->high)};
}

SeriesPart within(const PointSeries& points, XAxis axis, Span x) {
  return {&points, points.first_at_or_after(axis, x.low),
          points.first_at_or_after(axis, std::nextafter(x.high, HUGE_VAL))};
}

std::optional<Span> extent_of(const PlotSeries& series, XAxis axis, Span x, bool log) {
  const bool stacked = series.style.stacked && !log;
  const auto [points, begin, end] = within(stacked ? series.tops : series.points, axis, x);
  const Extremes extremes = points->drawable(log).extremes(begin, end);
  if (!extremes.any) return {};
  return Span{
      stacked ? std::min(0.0, points->value(extremes.least)) : points->value(extremes.least),
      points->value(extremes.greatest)};
}

}  // namespace

std::optional<Span> PlotModel::y_extent(XAxis axis, Span x, Side side, bool log) const {
  std::optional<Span> all;
  for (const auto& series : series_)
    if (series->visible && series->style.side == side)
      all = united(all, extent_of(*series, axis, x, log));
  return all;
}

bool PlotModel::can_clip() const {
  return std::ranges::any_of(series_, [](const auto& series) {
    return series->visible && series->style.reach != AxisLimit::whole;
  });
}

// Returns the axis limit: the 99th percentile of the values of all visible lines with
// `AxisLimit::percentile`. If there are none, the lines with `AxisLimit::rest` are used.
std::optional<double> PlotModel::percentile(XAxis axis, Span x, Side side) const {
  for (const AxisLimit reach : {AxisLimit::percentile, AxisLimit::rest}) {
    std::vector<SeriesPart> parts;
    for (const auto& series : series_)
      if (series->visible && series->style.side == side && series->style.reach == reach)
        parts.push_back(within(series->points, axis, x));
    if (const auto found = quantile(parts, kNearlyAll)) return found;
  }
  return {};
}

std::optional<Span> PlotModel::y_reach(XAxis axis, Span x, Side side) const {
  const auto all = y_extent(axis, x, side, false);
  const auto nearly = all ? percentile(axis, x, side) : std::nullopt;
  if (!nearly) return all;
  double high = *nearly;
  for (const auto& series : series_)
    if (series->visible && series->style.side == side && series->style.reach == AxisLimit::whole)
      if (const auto own = extent_of(*series, axis, x, false)) high = std::max(high, own->high);
  const Span cut{all->low, high};
  return value_range(*all).width() > kMinClipRatio * value_range(cut).width() ? cut : *all;
}

}  // namespace trainyard::ui
