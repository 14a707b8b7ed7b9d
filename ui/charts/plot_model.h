// SPDX-License-Identifier: GPL-3.0-or-later
// Content of a plot, independent of its appearance: series, smoothed lines, the extent of visible
// data, and the readings at an x.
#pragma once

#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ui/charts/marker.h"
#include "ui/model/series/series_derived.h"
#include "ui/model/series/series_thinning.h"

namespace trainyard::ui {

enum class Side { left, right };

// Rule for the upper limit that a line requires of a linear axis. Values beyond the limit are
// marked at the upper edge.
enum class AxisLimit {
  whole,       // the line's maximum
  percentile,  // the 99th percentile of the values of all `percentile` lines together
  // For a line that summarizes `percentile` lines: the same limit as theirs. If no `percentile`
  // line is visible, it is the 99th percentile of the values of all `rest` lines.
  rest
};

inline constexpr int kTextColor = -1;  // color of data of all ranks, which has no rank's color
constexpr int component_color_index(int part) {
  return kTextColor - 1 - part;
}  // color of component `part` of a total, which is no rank's color

struct SeriesStyle {
  QString label;
  // Index in the theme's series colors: the index of the rank or run, which is the same in every
  // chart. Can also be `kTextColor` or the result of `component_color_index`.
  int color = 0;
  std::optional<bool> dashed{};  // no value: dashed if the color repeats
  Side side = Side::left;
  bool pale = false;  // true: drawn behind the other series
  // The series is a summand of a stack. On a linear scale it is drawn as an area on top of the
  // previous stacked series, or as bars if its points are never joined.
  bool stacked = false;
  Joining joining = Joining::next_step;
  Marker marker = Marker::diamond;  // used if points are never joined
  // True if markers are outlines, which may enclose the markers of another series.
  bool hollow = false;
  AxisLimit reach = AxisLimit::whole;
  bool operator==(const SeriesStyle&) const = default;
};

// True if the series is drawn as bars, one at each step, as a part of a stack.
inline bool is_bars(const SeriesStyle& style) {
  return style.stacked && style.joining == Joining::never;
}
inline constexpr double kHalfBar = 0.4;  // half of a bar's width, in steps

struct PlotSeries {
  QString id;
  SeriesStyle style;
  PointSeries points;
  // Smoothed points. `smooth` makes them as many as `points`. Empty without smoothing.
  PointSeries smoothed;
  Smoother smoother{0};
  bool visible = true;
  // Number that changes if points, sums or the smoothed line were replaced, but not if points were
  // only appended.
  std::uint64_t revision = 0;

  // `tops`: sums of a stacked series and of all series below it. `smooth_tops`: the smoothed sums.
  // Lines and areas have sums at steps that all series below have reported; bars have sums at all
  // steps.
  PointSeries tops, smooth_tops;
  Smoother top_smoother{0};
  // Number of points of this series, and of the series below it in the stack, that the sums already
  // include.
  std::size_t stacked_points = 0, below_points = 0;
};

// One row of the crosshair's read-out: a logged point of one series.
struct Reading {
  SeriesStyle style;
  SeriesPoint point;
  std::optional<double> smoothed;
  double drawn = 0;  // drawn y value: the value, or the top in a stack; NaN if not drawn
};

class PlotModel {
 public:
  // Adds a series, or changes the style of the series with that id. Existing points are kept,
  // unless the new style joins points by another rule.
  PlotSeries& put(const QString& id, const SeriesStyle& style);
  void remove(const QString& id);
  void set_visible(const QString& id, bool visible);
  // Moves the series with these ids to the front, in this order.
  void order(const QStringList& ids);
  void clear() { series_.clear(); }
  PlotSeries* find(const QString& id);
  const PlotSeries* find(const QString& id) const { return const_cast<PlotModel*>(this)->find(id); }
  const std::vector<std::unique_ptr<PlotSeries>>& series() const { return series_; }

  // Appends points; ignores an unknown id. If a series has more points than its share of
  // kMaxPoints, which all series have together, its older half is thinned. A share has at least
  // kMinPoints.
  void append(const QString& id, std::span<const SeriesPoint> points);
  static constexpr std::size_t kMaxPoints = 32'768, kMinPoints = 8'192;
  void set_smoothing(double weight);  // 0: off
  void stack();                       // updates the sums of stacked series
  double smoothing() const { return smoothing_; }
  bool empty() const;  // true if no visible series has a point

  std::optional<Span> x_extent(XAxis axis) const;
  // Returns the extent of drawable values within `x` (on log scales, values above 0), in
  // logarithmic time.
  std::optional<Span> y_extent(XAxis axis, Span x, Side side, bool log) const;
  // Returns the range of values that a linear axis shows. It is `y_extent`, but values beyond the
  // limits of their lines (`AxisLimit`) are cut off if they would make the axis more than four
  // times as long.
  std::optional<Span> y_reach(XAxis axis, Span x, Side side) const;
  bool can_clip() const;  // true if a visible series may be cut off at its axis limit
  std::size_t skipped(
      bool log) const;         // number of points of visible series that the scale cannot show
  bool uses(Side side) const;  // true if a visible series is drawn on that side
  bool has_bars() const;       // true if a visible series has bars
  // Returns the x positions of values that cannot be drawn, where lines are broken; at most one per
  // pixel.
  std::vector<double> gaps(const PlotSeries& series, XAxis axis, Span x, int pixels,
                           bool log) const;
  // Returns the sum of the stack at `step` and the number of series in it. Returns nothing if no
  // sum is known.
  std::optional<std::pair<double, int>> stack_sum(double step) const;

  // Finds the logged point nearest to an x value, over all visible series. If several points are
  // equally near, it is the first of them.
  struct Found {
    QString id;
    SeriesPoint point;
  };
  std::optional<Found> nearest(XAxis axis, double x) const;
  std::optional<double> nearest_x(XAxis axis, double x) const;
  // Returns, for each visible series, the logged point nearest to `x`, if it is at most `tolerance`
  // away from `x`.
  std::vector<Reading> readings(XAxis axis, double x, double tolerance, bool log) const;

 private:
  void smooth(PlotSeries& series) const;
  void thin(PlotSeries& series);
  std::optional<double> percentile(XAxis axis, Span x, Side side) const;
  static double top_at(const PlotSeries& series, double step);
  void restack();
  void stack_on(PlotSeries& series, const PlotSeries* below) const;
  void stack_bars();

  std::vector<std::unique_ptr<PlotSeries>> series_;
  double smoothing_ = 0;
  std::uint64_t revisions_ = 0;
};

}  // namespace trainyard::ui
