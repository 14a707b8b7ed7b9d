// SPDX-License-Identifier: GPL-3.0-or-later
// The lines of a chart: made from series, and painted. They are drawn here, because the line series
// of Qt Charts stroke a path at every update, cannot break a line, and take 100 ms for a dashed
// one. A live series grows at its end: only what has not settled is made anew, and only what
// changed is painted.
#pragma once

#include <QGraphicsItem>
#include <QPen>
#include <QTransform>
#include <optional>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

// From values to pixels of the plot area.
struct PlotMap {
  QRectF area;
  XAxis axis = XAxis::step;
  Span x, y[2];  // y by side; decimal logarithms when `log`
  bool log = false;
  QPointF at(double x_value, double value, Side side) const;
  bool operator==(const PlotMap&) const = default;
};

// One series, ready to be drawn. All of its parts stand from left to right.
struct DrawnSeries {
  QPen pen;
  std::vector<QLineF> lines;
  std::vector<QRect>
      columns;  // where points are denser than pixels: what the lines cover of each column
  std::vector<QPointF> dots;  // points that no line reaches
  std::vector<QPolygonF>
      areas;  // between lines and zero, when `fill` is a colour; columns are then filled too
  std::vector<double> gaps;     // where values are that the scale cannot show: marked at the foot
  std::vector<QPointF> beyond;  // where points are above the area: marked at its upper edge
  bool marks_beyond = false;    // whether they are
  QColor fill;
  double zero = 0;  // where areas stand on
  double dot_size = 3;
  Marker marker = Marker::circle;
  bool hollow = false;
};

// The part of a line that lies in `area`, if any does.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& area);

// A bar around each step, from zero to its top; `look` as LineDrawing::draw takes it, with a fill.
// What is below is to be painted over what stands on it.
DrawnSeries draw_bars(const PointSeries& tops, const PlotMap& map, Side side,
                      const DrawnSeries& look);

// Makes the lines of one series, frame by frame.
class LineDrawing {
 public:
  // `look` brings pen, fill and dots, and no lines yet. `revision` is another one when the points
  // are others, and not only more, than the last time. `pixels`: as `thin` takes it.
  DrawnSeries draw(const PointSeries& points, std::uint64_t revision, const PlotMap& map, Side side,
                   int pixels, const DrawnSeries& look);
  bool thinned() const { return drawn_.thinned; }  // points were left out

 private:
  // What lines depend on, besides their points.
  struct Drawn {
    std::uint64_t revision = 0;
    PlotMap map;
    Side side{};
    int pixels = 0;
    double pen_width = 0;
    bool filled = false, marks_beyond = false, thinned = false;
    bool operator==(const Drawn&) const = default;
  };
  Drawn drawn_;
  Thinner thinner_;
  DrawnSeries settled_;
  std::size_t next_ = 0;  // of the thinned points: the first that is not in `settled_`
};

// Stands where the plot area is now, whichever area its lines were made for: axes are laid out
// between two frames too.
class PlotLines : public QGraphicsItem {
 public:
  explicit PlotLines(QGraphicsItem* parent);
  void show(const QRectF& area, std::vector<DrawnSeries> series);
  void move_to(const QRectF& area);  // the lines stay as they were made
  const std::vector<DrawnSeries>& series() const { return series_; }
  QTransform placing() const;  // from the area that the lines were made for to that of now
  QRectF boundingRect() const override { return now_; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) override;

 private:
  QRectF made_for_, now_;
  std::vector<DrawnSeries> series_;
};

// What must be painted again where `now` stands for `old`, both in `area`; empty: nothing.
QRectF difference(const std::vector<DrawnSeries>& old, const std::vector<DrawnSeries>& now,
                  const QRectF& area);

}  // namespace trainyard::ui
