// SPDX-License-Identifier: GPL-3.0-or-later
// Converts the points of a series to the lines of a chart.
#include <algorithm>
#include <cmath>

#include "ui/charts/plot_lines.h"

namespace trainyard::ui {

QPointF PlotMap::at(double x_value, double value, Side side) const {
  const Span& own = y[side == Side::left ? 0 : 1];
  const double shown = log ? std::log10(value) : value;
  return {area.left() + (x_value - x.low) / x.width() * area.width(),
          area.bottom() - (shown - own.low) / own.width() * area.height()};
}

// Line clipping by Liang and Barsky (1984).
std::optional<QLineF> clipped(const QLineF& line, const QRectF& area) {
  double from = 0, to = 1;
  const double dx = line.dx(), dy = line.dy();
  const auto cut = [&](double direction, double room) {
    if (direction == 0) return room >= 0;
    const double at = room / direction;
    if (direction < 0) from = std::max(from, at);
    else to = std::min(to, at);
    return from <= to;
  };
  const bool meets = cut(-dx, line.x1() - area.left()) && cut(dx, area.right() - line.x1()) &&
                     cut(-dy, line.y1() - area.top()) && cut(dy, area.bottom() - line.y1());
  if (!meets) return {};
  return QLineF(line.pointAt(from), line.pointAt(to));
}

namespace {

// Adds a line segment that is not much longer than a pixel. It is stored as the pixels that it
// covers in each column, because stroking thousands of such segments takes 40 ms.
void add_columns(DrawnSeries& drawn, const QLineF& line) {
  const double half = drawn.pen.widthF() / 2, slope = line.dx() == 0 ? 0 : line.dy() / line.dx();
  for (double x = std::floor(line.x1()); x <= line.x2(); ++x) {
    const double enters = line.y1() + slope * (std::max(x, line.x1()) - line.x1());
    const double leaves =
        line.dx() == 0 ? line.y2() : line.y1() + slope * (std::min(x + 1, line.x2()) - line.x1());
    const QRect column(
        QPoint(static_cast<int>(x), static_cast<int>(std::lround(std::min(enters, leaves) - half))),
        QPoint(static_cast<int>(x),
               static_cast<int>(std::lround(std::max(enters, leaves) + half)) - 1));
    if (!drawn.columns.empty() && drawn.columns.back().left() == column.left())
      drawn.columns.back() |= column;
    else drawn.columns.push_back(column);
  }
}

// Converts the thinned points of a series, in order, to the elements to draw: lines, dots, areas
// and gaps.
class LineBuilder {
 public:
  LineBuilder(const PointSeries& points, const Thinned& thinned, const PlotMap& map, Side side)
      : points_(points), thinned_(thinned), map_(map), side_(side) {}

  void draw(std::size_t begin, std::size_t end, DrawnSeries& drawn) const {
    QPointF before = begin > 0 ? at(begin - 1) : QPointF();
    for (std::size_t i = begin; i < end; ++i) before = draw_one(i, before, drawn);
  }

 private:
  QPointF at(std::size_t i) const {
    const std::size_t index = thinned_.points[i].index;
    return map_.at(points_.x(map_.axis, index), points_.value(index), side_);
  }

  QPointF draw_one(std::size_t i, QPointF before, DrawnSeries& drawn) const {
    const QPointF here = at(i);
    const bool joined = thinned_.points[i].joined;
    if (joined) add_line(drawn, {before, here});
    const bool joined_on = i + 1 < thinned_.points.size() && thinned_.points[i + 1].joined;
    if (!joined && !joined_on && map_.area.contains(here)) drawn.dots.push_back(here);
    if (drawn.marks_beyond && here.y() < map_.area.top() && here.x() >= map_.area.left() &&
        here.x() <= map_.area.right())
      drawn.beyond.emplace_back(here.x(), map_.area.top());
    return here;
  }

  void add_line(DrawnSeries& drawn, const QLineF& whole) const {
    const auto line = clipped(whole, map_.area);
    if (line && thinned_.thinned && line->dx() < 2) return add_columns(drawn, *line);
    if (line) drawn.lines.push_back(*line);
    // The area below a line is filled even if the line itself is outside of the plot.
    if (drawn.fill.isValid()) add_to_area(drawn, whole);
  }

  // Extends the last filled area if the new line begins where that area ends. Otherwise begins a
  // new area, with its first corner at the value zero.
  static void add_to_area(DrawnSeries& drawn, const QLineF& line) {
    const bool touches =
        !drawn.areas.empty() && drawn.areas.back().at(drawn.areas.back().size() - 2) == line.p1();
    if (touches) drawn.areas.back().insert(drawn.areas.back().size() - 1, line.p2());
    else
      drawn.areas.push_back(QPolygonF(
          {QPointF(line.x1(), drawn.zero), line.p1(), line.p2(), QPointF(line.x2(), drawn.zero)}));
    drawn.areas.back().back().setX(line.x2());
  }

  const PointSeries& points_;
  const Thinned& thinned_;
  const PlotMap& map_;
  Side side_;
};

}  // namespace

DrawnSeries draw_bars(const PointSeries& tops, const PlotMap& map, Side side,
                      const DrawnSeries& look) {
  constexpr double kLeast = 1;  // pixels; minimum height of a bar with a nonzero value
  DrawnSeries drawn = look;
  drawn.zero = std::min(map.at(map.x.low, 0, side).y(), map.area.bottom());
  const double half = std::max(kLeast / 2, kHalfBar * map.area.width() / map.x.width());
  for (std::size_t i = tops.first_at_or_after(map.axis, map.x.low - kHalfBar);
       i < tops.size() && tops.x(map.axis, i) <= map.x.high + kHalfBar; ++i) {
    if (!(tops.value(i) > 0)) continue;
    const QPointF top = map.at(tops.x(map.axis, i), tops.value(i), side);
    const QRectF bar = QRectF(QPointF(top.x() - half, std::min(top.y(), drawn.zero - kLeast)),
                              QPointF(top.x() + half, drawn.zero)) &
                       map.area;
    if (!bar.isEmpty())
      drawn.areas.push_back(
          QPolygonF({bar.bottomLeft(), bar.topLeft(), bar.topRight(), bar.bottomRight()}));
  }
  return drawn;
}

// Draws the points. The newest point is drawn only when the next point is known: if no line joins
// the two, it becomes a dot.
DrawnSeries LineDrawing::draw(const PointSeries& points, std::uint64_t revision, const PlotMap& map,
                              Side side, int pixels, const DrawnSeries& look) {
  if (revision != drawn_.revision) thinner_ = {};
  const Thinned& thinned = thinner_.update(points, map.axis, map.x, pixels, map.log);
  const Drawn wanted{
      revision,       map, side, pixels, look.pen.widthF(), look.fill.isValid(), look.marks_beyond,
      thinned.thinned};
  if (wanted != drawn_ || thinner_.kept() == 0) next_ = 0, settled_ = look;
  drawn_ = wanted;
  settled_.zero = std::min(map.at(map.x.low, 0, side).y(), map.area.bottom() + 1);
  const LineBuilder pencil(points, thinned, map, side);
  if (thinned.settled > next_ + 1) {
    pencil.draw(next_, thinned.settled - 1, settled_);
    next_ = thinned.settled - 1;
  }
  settled_.pen = look.pen;
  settled_.fill = look.fill;
  settled_.dot_size = look.dot_size;
  DrawnSeries drawn = settled_;
  pencil.draw(next_, thinned.points.size(), drawn);
  return drawn;
}

}  // namespace trainyard::ui
