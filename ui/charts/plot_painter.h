// SPDX-License-Identifier: GPL-3.0-or-later
// What is painted into the plot area of a chart. Qt Charts draws frame, axes and grid; the lines are drawn here, because its
// line series stroke a path at every update, cannot break a line, and take 100 ms for a dashed one.
#pragma once

#include <QFont>
#include <QGraphicsItem>
#include <QPen>
#include <QStringList>
#include <optional>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

// Colours of everything but the series, and how thick lines are, from the theme and the font of a widget.
struct PlotStyle {
  QColor background, text, muted, grid, accent, warning;
  QFont font;
  double line_width = 1.5;
};
PlotStyle plot_style(const QFont& font);

// The pen of a series; a pale one stands behind the others.
QPen series_pen(const SeriesStyle& style, double width, bool pale);
QFont scaled(QFont font, double factor);

// Height of the strip above the plot area that badges stand in, so that they never cover a line.
double badge_strip(const PlotStyle& style);

// From values to pixels of the plot area.
struct PlotMap {
  QRectF area;
  XAxis axis = XAxis::step;
  Span x, y[2];  // y by side; decimal logarithms when `log`
  bool log = false;
  QPointF at(double x_value, double value, Side side) const;
};

// One series, ready to be drawn.
struct DrawnSeries {
  QPen pen;
  std::vector<QLineF> lines;
  std::vector<QRect> columns;    // where points are denser than pixels: what the lines cover of each column, from left to right
  std::vector<QPointF> dots;     // points that no line reaches
  std::vector<QPolygonF> areas;  // between a line and zero, when it is `filled`
  std::vector<double> gaps;      // where values are that the scale cannot show: marked at the foot
  QColor fill;
  double dot_size = 3;
  bool diamonds = false;
};

// `pixels`: as `thin` takes it. Says whether points were left out. Areas are made when `drawn.fill` is a colour.
bool draw_points(const PointSeries& points, const PlotMap& map, Side side, int pixels, DrawnSeries& drawn);
// Under the top of a part of a stack; opaque, for what lies below is painted over it.
QColor area_colour(const SeriesStyle& style, const QColor& background);

// The part of a line that lies in `area`, if any does.
std::optional<QLineF> clipped(const QLineF& line, const QRectF& area);

class PlotLines : public QGraphicsItem {
 public:
  explicit PlotLines(QGraphicsItem* parent) : QGraphicsItem(parent) {}
  void show(const QRectF& area, std::vector<DrawnSeries> series);
  const std::vector<DrawnSeries>& series() const { return series_; }
  QRectF boundingRect() const override { return area_; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) override;

 private:
  void paint_gaps(QPainter& painter, const DrawnSeries& drawn) const;
  void paint_columns(QPainter& painter, const DrawnSeries& drawn) const;
  QRectF area_;
  std::vector<DrawnSeries> series_;
};

// Badges, the empty state, the crosshair with its read-out, and the rubber band, above the lines.
class PlotOverlay : public QGraphicsItem {
 public:
  struct Row {
    QColor colour;
    QString text;
  };
  struct Content {
    QStringList badges;
    QString empty;            // shown in the middle when not empty
    std::optional<double> x;  // of the crosshair, in pixels
    QString heading;          // of the read-out
    std::vector<Row> rows;
    std::vector<std::pair<QPointF, QColor>> points;  // what is read
    QRectF band;
  };
  explicit PlotOverlay(QGraphicsItem* parent) : QGraphicsItem(parent) {}
  void show(const QRectF& area, const PlotStyle& style, Content content);
  const Content& content() const { return content_; }
  QRectF boundingRect() const override { return area_.adjusted(0, -badge_strip(style_), 0, 0); }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) override;

 private:
  void paint_badges(QPainter& painter) const;
  void paint_crosshair(QPainter& painter) const;
  void paint_reading(QPainter& painter) const;

  QRectF area_;
  PlotStyle style_;
  Content content_;
};

}  // namespace trainyard::ui
