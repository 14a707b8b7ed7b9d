// SPDX-License-Identifier: GPL-3.0-or-later
// What a plot shows, apart from how: its series, smoothed lines, the extent of what is visible, and what is read at an x.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ui/model/series_derived.h"
#include "ui/model/series_thinning.h"

namespace trainyard::ui {

enum class Side { left, right };

struct SeriesStyle {
  QString label;
  int colour = 0;                // of the theme's series: the number of the rank or run, the same in every view
  std::optional<bool> dashed{};  // nothing: the dashes that tell colours apart when they repeat
  Side side = Side::left;
  bool pale = false;  // stands behind the others
  Joining joining = Joining::next_step;
};

struct PlotSeries {
  QString id;
  SeriesStyle style;
  PointSeries points;
  PointSeries smoothed;  // as long as `points` after `smooth`; empty without smoothing
  Smoother smoother{0};
  bool visible = true;
};

// One line of a read-out: a point that was logged.
struct Reading {
  QString label;
  int colour = 0;
  SeriesPoint point;
  std::optional<double> smoothed;
  Side side = Side::left;
};

class PlotModel {
 public:
  // Adds a series, or restyles the one of that id; points stay unless the joining differs.
  PlotSeries& put(const QString& id, const SeriesStyle& style);
  void remove(const QString& id);
  void clear() { series_.clear(); }
  PlotSeries* find(const QString& id);
  const PlotSeries* find(const QString& id) const { return const_cast<PlotModel*>(this)->find(id); }
  const std::vector<std::unique_ptr<PlotSeries>>& series() const { return series_; }

  void append(const QString& id, std::span<const SeriesPoint> points);  // an id that is not there is ignored
  void set_smoothing(double weight);                                    // 0: off
  double smoothing() const { return smoothing_; }
  bool empty() const;  // no visible series has a point

  std::optional<Span> x_extent(XAxis axis) const;
  // Of what can be drawn within `x`: of log scales, values above 0. Logarithmic time.
  std::optional<Span> y_extent(XAxis axis, Span x, Side side, bool log) const;
  std::size_t skipped(bool log) const;  // points of visible series that cannot be drawn on such a scale
  bool uses(Side side) const;           // a visible series is drawn on that side

  std::optional<double> nearest_x(XAxis axis, double x) const;  // of a logged point of a visible series
  // Of every visible series the logged point nearest to x, if it is no farther than `tolerance`.
  std::vector<Reading> readings(XAxis axis, double x, double tolerance) const;

 private:
  void smooth(PlotSeries& series) const;

  std::vector<std::unique_ptr<PlotSeries>> series_;
  double smoothing_ = 0;
};

}  // namespace trainyard::ui
