// SPDX-License-Identifier: GPL-3.0-or-later
// What a plot shows, apart from how: its series, smoothed lines, the extent of what is visible, and
// what is read at an x.
#pragma once

#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ui/charts/marker.h"
#include "ui/model/series_derived.h"
#include "ui/model/series_thinning.h"

namespace trainyard::ui {

enum class Side { left, right };

// How far a linear axis goes up for a line. What lies beyond is marked at its upper end.
enum class Reach {
  whole,       // to its greatest value
  nearly_all,  // to what 99 of 100 values of all such lines do not pass
  rest  // no further than for those, of which it is a summary; where none of them is shown, as one
        // of them
};

inline constexpr int kTextColour = -1;  // of what belongs to all ranks, and so has no rank's colour
constexpr int colour_of_part(int part) {
  return kTextColour - 1 - part;
}  // of the theme's parts, which are no rank's either; and back

struct SeriesStyle {
  QString label;
  int colour = 0;  // of the theme's series: the number of the rank or run, the same in every view;
                   // or one of the above
  std::optional<bool> dashed{};  // nothing: the dashes that tell colours apart when they repeat
  Side side = Side::left;
  bool pale = false;     // stands behind the others
  bool stacked = false;  // a part of a sum: on a linear scale it stands, as an area, on the stacked
                         // series before it; as bars where points are never joined
  Joining joining = Joining::next_step;
  Marker marker = Marker::diamond;  // of points that are never joined
  bool hollow = false;  // markers are outlines, with room for those of another series in them
  Reach reach = Reach::whole;
  bool operator==(const SeriesStyle&) const = default;
};

// A bar around each whole step.
inline bool is_bars(const SeriesStyle& style) {
  return style.stacked && style.joining == Joining::never;
}
inline constexpr double kHalfBar = 0.4;  // steps

struct PlotSeries {
  QString id;
  SeriesStyle style;
  PointSeries points;
  PointSeries smoothed;  // as long as `points` after `smooth`; empty without smoothing
  Smoother smoother{0};
  bool visible = true;
  std::uint64_t revision = 0;  // another one when points, sums or the smoothed line are others than
                               // before, and not only more

  // Of a stacked one: the sums up to and with this part, of the steps that every part below has
  // reported too, of bars of all their steps; and their smoothed line.
  PointSeries tops, smooth_tops;
  Smoother top_smoother{0};
  std::size_t stacked_points = 0,
              below_points = 0;  // of `points` and of the part below, as far as the sums go
};

// One line of a read-out: a point that was logged.
struct Reading {
  SeriesStyle style;
  SeriesPoint point;
  std::optional<double> smoothed;
  double drawn = 0;  // where it is drawn: the value, or the top of its part of a stack; NaN when it
                     // is not drawn
};

class PlotModel {
 public:
  // Adds a series, or restyles the one of that id; points stay unless the joining differs.
  PlotSeries& put(const QString& id, const SeriesStyle& style);
  void remove(const QString& id);
  void set_visible(const QString& id, bool visible);
  void order(const QStringList& ids);  // the series of the list come first, in its order
  void clear() { series_.clear(); }
  PlotSeries* find(const QString& id);
  const PlotSeries* find(const QString& id) const { return const_cast<PlotModel*>(this)->find(id); }
  const std::vector<std::unique_ptr<PlotSeries>>& series() const { return series_; }

  void append(const QString& id,
              std::span<const SeriesPoint> points);  // an id that is not there is ignored
  void set_smoothing(double weight);                 // 0: off
  void stack();                                      // brings the sums of stacked series up to date
  double smoothing() const { return smoothing_; }
  bool empty() const;  // no visible series has a point

  std::optional<Span> x_extent(XAxis axis) const;
  // Of what can be drawn within `x`: of log scales, values above 0. Logarithmic time.
  std::optional<Span> y_extent(XAxis axis, Span x, Side side, bool log) const;
  // As much of that as a linear axis is made for: less where values that lines need not reach would
  // make it more than four times as long.
  std::optional<Span> y_reach(XAxis axis, Span x, Side side) const;
  bool may_be_cut() const;  // a visible series need not be reached whole
  std::size_t skipped(
      bool log) const;         // points of visible series that cannot be drawn on such a scale
  bool uses(Side side) const;  // a visible series is drawn on that side
  bool has_bars() const;       // of visible series, one at least
  // Where values lie that cannot be drawn, and lines are broken: x values, at most one of a pixel.
  std::vector<double> gaps(const PlotSeries& series, XAxis axis, Span x, int pixels,
                           bool log) const;
  // The sum of the stack at `step`, and of how many parts; nothing where no sum is known.
  std::optional<std::pair<double, int>> stack_sum(double step) const;

  // Of visible series the logged point nearest to x, and whose it is; of several the first.
  struct Found {
    QString id;
    SeriesPoint point;
  };
  std::optional<Found> nearest(XAxis axis, double x) const;
  std::optional<double> nearest_x(XAxis axis, double x) const;
  // Of every visible series the logged point nearest to x, if it is no farther than `tolerance`.
  std::vector<Reading> readings(XAxis axis, double x, double tolerance, bool log) const;

 private:
  void smooth(PlotSeries& series) const;
  std::optional<double> nearly_all(XAxis axis, Span x, Side side) const;
  static double top_at(const PlotSeries& series, double step);
  void restack();
  void stack_on(PlotSeries& series, const PlotSeries* below) const;
  void stack_bars();

  std::vector<std::unique_ptr<PlotSeries>> series_;
  double smoothing_ = 0;
  std::uint64_t revisions_ = 0;
};

}  // namespace trainyard::ui
