// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_model.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

PlotSeries* PlotModel::find(const QString& id) {
  const auto at = std::ranges::find_if(series_, [&](const auto& series) { return series->id == id; });
  return at == series_.end() ? nullptr : at->get();
}

PlotSeries& PlotModel::put(const QString& id, const SeriesStyle& style) {
  PlotSeries* series = find(id);
  if (!series)
    series = series_.emplace_back(std::make_unique<PlotSeries>(PlotSeries{id, style, PointSeries(style.joining), PointSeries(), Smoother(smoothing_)})).get();
  if (series->style.joining != style.joining) {
    PointSeries points(style.joining);
    for (std::size_t i = 0; i < series->points.size(); ++i) points.append(series->points.at(i));
    series->points = std::move(points);
  }
  series->style = style;
  return *series;
}

void PlotModel::remove(const QString& id) {
  std::erase_if(series_, [&](const auto& series) { return series->id == id; });
}

void PlotModel::append(const QString& id, std::span<const SeriesPoint> points) {
  PlotSeries* series = find(id);
  if (!series) return;
  for (const SeriesPoint& point : points) series->points.append(point);
  smooth(*series);
}

void PlotModel::set_smoothing(double weight) {
  smoothing_ = std::clamp(weight, 0.0, 0.999);
  for (const auto& series : series_) {
    series->smoother = Smoother(smoothing_);
    series->smoothed = PointSeries(series->style.joining);
    smooth(*series);
  }
}

// Markers are measurements that stand alone, and are not smoothed.
void PlotModel::smooth(PlotSeries& series) const {
  if (smoothing_ <= 0 || series.style.joining == Joining::never) return;
  for (std::size_t i = series.smoothed.size(); i < series.points.size(); ++i) {
    SeriesPoint point = series.points.at(i);
    point.value = series.smoother.next(point.value);
    series.smoothed.append(point);
  }
}

bool PlotModel::empty() const {
  return std::ranges::none_of(series_, [](const auto& series) { return series->visible && !series->points.empty(); });
}

std::optional<Span> PlotModel::x_extent(XAxis axis) const {
  std::optional<Span> all;
  for (const auto& series : series_) {
    if (!series->visible || series->points.empty()) continue;
    const double first = series->points.x(axis, 0), last = series->points.x(axis, series->points.size() - 1);
    all = all ? Span{std::min(all->low, first), std::max(all->high, last)} : Span{first, last};
  }
  return all;
}

std::optional<Span> PlotModel::y_extent(XAxis axis, Span x, Side side, bool log) const {
  std::optional<Span> all;
  for (const auto& series : series_) {
    if (!series->visible || series->style.side != side) continue;
    const PointSeries& points = series->points;
    const std::size_t begin = points.first_at_or_after(axis, x.low), end = points.first_at_or_after(axis, std::nextafter(x.high, HUGE_VAL));
    const Extremes extremes = points.drawable(log).extremes(begin, end);
    if (!extremes.any) continue;
    const Span own{points.value(extremes.least), points.value(extremes.greatest)};
    all = all ? Span{std::min(all->low, own.low), std::max(all->high, own.high)} : own;
  }
  return all;
}

std::size_t PlotModel::skipped(bool log) const {
  std::size_t count = 0;
  for (const auto& series : series_)
    if (series->visible) count += series->points.drawable(log).skipped();
  return count;
}

bool PlotModel::uses(Side side) const {
  return std::ranges::any_of(series_, [&](const auto& series) { return series->visible && series->style.side == side; });
}

std::optional<double> PlotModel::nearest_x(XAxis axis, double x) const {
  std::optional<double> nearest;
  for (const auto& series : series_) {
    if (!series->visible || series->points.empty()) continue;
    const double own = series->points.x(axis, series->points.nearest(axis, x));
    if (!nearest || std::abs(own - x) < std::abs(*nearest - x)) nearest = own;
  }
  return nearest;
}

std::vector<Reading> PlotModel::readings(XAxis axis, double x, double tolerance) const {
  std::vector<Reading> readings;
  for (const auto& series : series_) {
    if (!series->visible || series->points.empty()) continue;
    const std::size_t index = series->points.nearest(axis, x);
    if (std::abs(series->points.x(axis, index) - x) > tolerance) continue;
    Reading reading{series->style.label, series->style.colour, series->points.at(index), {}, series->style.side};
    if (index < series->smoothed.size()) reading.smoothed = series->smoothed.value(index);
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace trainyard::ui
