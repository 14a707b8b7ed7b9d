// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of a chart: generated from series, and painted. They replace the line series of Qt Charts,
// which stroke a path at every update, cannot break a line, and take 100 ms for a dashed line. A
// live series grows at its end, so only the end of its line is generated again, and only changed
// pixels are painted again.
#pragma once

#include <QGraphicsItem>
#include <QPen>
#include <QTransform>
#include <optional>
#include <vector>

#include "ui/charts/drawn_series.h"
#include "ui/charts/plot_model.h"

namespace trainyard::ui {

// Mapping from the values of a chart to pixels of its plot area.
struct PlotMap {
  QRectF area;
  XAxis axis = XAxis::step;
  Span x, y[2];  // y by side; decimal logarithms if `log`
  bool log = false;
  QPointF at(double x_value, double value, Side side) const;
  bool operator==(const PlotMap&) const = default;
};

// Returns the segment of a line inside `area`, if any.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& area);

// Draws a bar at each step, from zero to the height in `tops`. `look` is as in `LineDrawing::draw`,
// with a fill. In a stack, series must be painted from top to bottom, because the bars of a lower
// series are painted over those of an upper one.
DrawnSeries draw_bars(const PointSeries& tops, const PlotMap& map, Side side,
                      const DrawnSeries& look);

// Generates the lines of one series for each frame. Lines of earlier frames are reused.
class LineDrawing {
 public:
  // Returns the series ready to draw. `look` supplies pen, fill and dots; its lists of lines are
  // ignored. `revision` must change if points were replaced, but not if points were only appended.
  // `pixels` is the width of the x range on screen.
  DrawnSeries draw(const PointSeries& points, std::uint64_t revision, const PlotMap& map, Side side,
                   int pixels, const DrawnSeries& look);
  bool thinned() const { return drawn_.thinned; }  // some points were omitted

 private:
  // All inputs of the last drawing except the points. If one of them changes, all lines are
  // generated again.
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
  std::size_t next_ = 0;  // first thinned point that is not in `settled_`
};

// Scene item of the lines. If the plot area has changed since the lines were generated, the lines
// are transformed to the current area. This is needed because axes are also laid out between
// frames.
class PlotLines : public QGraphicsItem {
 public:
  explicit PlotLines(QGraphicsItem* parent);
  void show(const QRectF& area, std::vector<DrawnSeries> series);
  void move_to(const QRectF& area);  // moves the lines without generating them again
  const std::vector<DrawnSeries>& series() const { return series_; }
  QTransform placing() const;  // transform from the area of the lines to the current one
  QRectF boundingRect() const override { return now_; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) override;

 private:
  QRectF made_for_, now_;
  std::vector<DrawnSeries> series_;
};

// Returns the rectangle to repaint when the drawn series `now` replace `old`, both in the plot area
// `area`. Empty if no pixel changes.
QRectF difference(const std::vector<DrawnSeries>& old, const std::vector<DrawnSeries>& now,
                  const QRectF& area);

}  // namespace trainyard::ui
