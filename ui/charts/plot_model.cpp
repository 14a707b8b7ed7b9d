// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace trainyard::ui {

PlotSeries* PlotModel::find(const QString& id) {
  const auto at =
      std::ranges::find_if(series_, [&](const auto& series) { return series->id == id; });
  return at == series_.end() ? nullptr : at->get();
}

PlotSeries& PlotModel::put(const QString& id, const SeriesStyle& style) {
  PlotSeries* series = find(id);
  if (!series) {
    series = series_.emplace_back(std::make_unique<PlotSeries>()).get();
    series->id = id;
    series->points = series->smoothed = series->tops = series->smooth_tops =
        PointSeries(style.joining);
    series->smoother = series->top_smoother = Smoother(smoothing_);
    series->revision = ++revisions_;
  }
  if (series->style.joining != style.joining) {
    PointSeries points(style.joining);
    for (std::size_t i = 0; i < series->points.size(); ++i) points.append(series->points.at(i));
    series->points = std::move(points);
    series->revision = ++revisions_;
  }
  const bool restacks = style.stacked || series->style.stacked;
  series->style = style;
  if (restacks) restack();
  return *series;
}

void PlotModel::remove(const QString& id) {
  std::erase_if(series_, [&](const auto& series) { return series->id == id; });
  restack();
}

void PlotModel::set_visible(const QString& id, bool visible) {
  PlotSeries* series = find(id);
  if (!series || series->visible == visible) return;
  series->visible = visible;
  if (series->style.stacked) restack();
}

void PlotModel::order(const QStringList& ids) {
  const auto place = [&](const auto& series) {
    const auto at = ids.indexOf(series->id);
    return at < 0 ? ids.size() : at;
  };
  if (std::ranges::is_sorted(series_, {}, place)) return;
  std::ranges::stable_sort(series_, {}, place);
  restack();
}

void PlotModel::append(const QString& id, std::span<const SeriesPoint> points) {
  PlotSeries* series = find(id);
  if (!series) return;
  for (const SeriesPoint& point : points) series->points.append(point);
  smooth(*series);
  if (series->points.size() > std::max(kMaxPoints / series_.size(), kMinPoints)) thin(*series);
}

void PlotModel::thin(PlotSeries& series) {
  const std::size_t half = series.points.size() / 2;
  const auto kept = series.points.thin_older_half();
  if (series.smoothed.size() >= half) series.smoothed.keep(kept, half);
  series.revision = ++revisions_;
  if (series.style.stacked) restack();
}

void PlotModel::set_smoothing(double weight) {
  smoothing_ = std::clamp(weight, 0.0, 0.999);
  for (const auto& series : series_) {
    series->smoother = Smoother(smoothing_);
    series->smoothed = PointSeries(series->style.joining);
    smooth(*series);
  }
  restack();
}

// Smooths the points that were added to a series. Series that are drawn as markers are not
// smoothed, because their points are separate measurements.
void PlotModel::smooth(PlotSeries& series) const {
  if (smoothing_ <= 0 || series.style.joining == Joining::never) return;
  for (std::size_t i = series.smoothed.size(); i < series.points.size(); ++i) {
    SeriesPoint point = series.points.at(i);
    point.value = series.smoother.next(point.value);
    series.smoothed.append(point);
  }
}

// Stacks all series again. Used if a series below another one in a stack has changed.
void PlotModel::restack() {
  for (const auto& series : series_) {
    series->tops = PointSeries(series->style.joining);
    series->smooth_tops = PointSeries(series->style.joining);
    series->top_smoother = Smoother(smoothing_);
    series->stacked_points = series->below_points = 0;
    series->revision = ++revisions_;
  }
}

void PlotModel::stack() {
  stack_bars();
  const PlotSeries* below = nullptr;
  for (const auto& series : series_) {
    if (!series->visible || !series->style.stacked || is_bars(series->style)) continue;
    stack_on(*series, below);
    below = series.get();
  }
}

// Stacks bars. At each step, a bar stands on the bars of the series below that have a value there.
// All sums are computed again if any series has grown, because the bars above its new bars move up.
void PlotModel::stack_bars() {
  const auto shown = [](const auto& series) { return series->visible && is_bars(series->style); };
  if (std::ranges::none_of(series_, [&](const auto& series) {
        return shown(series) && series->stacked_points < series->points.size();
      }))
    return;
  std::map<double, double> heights;  // by step
  for (const auto& series : series_) {
    if (!shown(series)) continue;
    series->tops = PointSeries(series->style.joining);
    for (series->stacked_points = 0; series->stacked_points < series->points.size();
         ++series->stacked_points) {
      SeriesPoint point = series->points.at(series->stacked_points);
      point.value = heights[point.step] += point.value;
      series->tops.append(point);
    }
  }
}

// Computes the sums of a stacked series: its values plus the sums of the series below it. A step
// waits until the series below has reached it. If the series below has no value at a step, the sum
// has a gap there.
void PlotModel::stack_on(PlotSeries& series, const PlotSeries* below) const {
  for (std::size_t& i = series.stacked_points; i < series.points.size(); ++i) {
    SeriesPoint point = series.points.at(i);
    if (below) {
      std::size_t& j = series.below_points;
      while (j < below->tops.size() && below->tops.x(XAxis::step, j) < point.step) ++j;
      if (j == below->tops.size()) {
        if (below->stacked_points == 0 ||
            below->points.x(XAxis::step, below->stacked_points - 1) < point.step)
          return;
        continue;
      }
      if (below->tops.x(XAxis::step, j) > point.step) continue;
      point.value += below->tops.value(j);
    }
    series.tops.append(point);
    if (smoothing_ <= 0) continue;
    point.value = series.top_smoother.next(point.value);
    series.smooth_tops.append(point);
  }
}

std::optional<std::pair<double, int>> PlotModel::stack_sum(double step) const {
  std::pair<double, int> sum{std::nan(""), 0};
  for (const auto& series : series_) {
    if (!series->visible || !series->style.stacked) continue;
    const double top = top_at(*series, step);
    if (!is_bars(series->style) || !std::isnan(top)) sum = {top, sum.second + 1};
  }
  return std::isnan(sum.first) ? std::nullopt : std::optional(sum);
}

bool PlotModel::empty() const {
  return std::ranges::none_of(
      series_, [](const auto& series) { return series->visible && !series->points.empty(); });
}

std::optional<Span> PlotModel::x_extent(XAxis axis) const {
  std::optional<Span> all;
  for (const auto& series : series_) {
    if (!series->visible || series->points.empty()) continue;
    const double first = series->points.x(axis, 0),
                 last = series->points.x(axis, series->points.size() - 1);
    all = all ? Span{std::min(all->low, first), std::max(all->high, last)} : Span{first, last};
  }
  return all;
}

std::size_t PlotModel::skipped(bool log) const {
  std::size_t count = 0;
  for (const auto& series : series_)
    if (series->visible) count += series->points.drawable(log).skipped().size();
  return count;
}

std::vector<double> PlotModel::gaps(const PlotSeries& series, XAxis axis, Span x, int pixels,
                                    bool log) const {
  std::vector<double> found;
  const PointSeries& points = series.points;
  const std::vector<std::uint32_t>& skipped = points.drawable(log).skipped();
  const double pixel = x.width() / std::max(pixels, 1);
  const auto first_from = [&](double from) {
    return std::ranges::lower_bound(skipped, from, {},
                                    [&](std::uint32_t index) { return points.x(axis, index); });
  };
  for (auto at = first_from(x.low); at != skipped.end() && points.x(axis, *at) <= x.high;
       at = std::max(at + 1, first_from(found.back() + pixel)))
    found.push_back(points.x(axis, *at));
  return found;
}

bool PlotModel::uses(Side side) const {
  return std::ranges::any_of(
      series_, [&](const auto& series) { return series->visible && series->style.side == side; });
}

bool PlotModel::has_bars() const {
  return std::ranges::any_of(
      series_, [](const auto& series) { return series->visible && is_bars(series->style); });
}

std::optional<PlotModel::Found> PlotModel::nearest(XAxis axis, double x) const {
  std::optional<Found> found;
  for (const auto& series : series_) {
    if (!series->visible || series->points.empty()) continue;
    const std::size_t at = series->points.nearest(axis, x);
    if (!found || std::abs(series->points.x(axis, at) - x) < std::abs(found->point.on(axis) - x))
      found = Found{series->id, series->points.at(at)};
  }
  return found;
}

std::optional<double> PlotModel::nearest_x(XAxis axis, double x) const {
  const auto found = nearest(axis, x);
  return found ? std::optional(found->point.on(axis)) : std::nullopt;
}

double PlotModel::top_at(const PlotSeries& series, double step) {
  const std::size_t at = series.tops.first_at_or_after(XAxis::step, step);
  return at < series.tops.size() && series.tops.x(XAxis::step, at) == step ? series.tops.value(at)
                                                                           : std::nan("");
}

std::vector<Reading> PlotModel::readings(XAxis axis, double x, double tolerance, bool log) const {
  std::vector<Reading> readings;
  for (const auto& series : series_) {
    if (!series->visible || series->points.empty()) continue;
    const std::size_t index = series->points.nearest(axis, x);
    if (std::abs(series->points.x(axis, index) - x) > tolerance) continue;
    Reading reading{series->style, series->points.at(index), {}, series->points.value(index)};
    if (series->style.stacked && !log) reading.drawn = top_at(*series, reading.point.step);
    if (index < series->smoothed.size()) reading.smoothed = series->smoothed.value(index);
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace trainyard::ui
