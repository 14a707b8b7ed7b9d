// SPDX-License-Identifier: GPL-3.0-or-later
// How a chart is painted: its colours and pens, and what stands over its lines. Frame, axes and
// grid are Qt Charts'.
#pragma once

#include <QFont>
#include <QGraphicsItem>
#include <QPen>
#include <QStringList>
#include <optional>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

// Colours of everything but the series, and how thick lines are, from the theme and the font of a
// widget.
struct PlotStyle {
  QColor background, text, muted, grid, accent, warning;
  QFont font;
  double line_width = 1.5;
  bool operator==(const PlotStyle&) const = default;
};
PlotStyle plot_style(const QFont& font);

QColor colour_of(const SeriesStyle& style);
// The pen of a series. A pale one stands behind the others, but can be seen: its contrast with the
// card is 3 at least. `raw`: behind its own smoothed line, and paler.
QPen series_pen(const SeriesStyle& style, double width, bool raw = false);
// A piece of its line, as it is drawn: for legend and read-out.
void paint_sample(QPainter& painter, const SeriesStyle& style, const QRectF& box);
QFont scaled(QFont font, double factor);

// Height of the strip above the plot area that badges stand in, so that they never cover a line.
double badge_strip(const PlotStyle& style);

// Under the top of a part of a stack; opaque, for what lies below is painted over it.
QColor area_colour(const SeriesStyle& style, const QColor& background);

// Badges, marks, the empty state, the crosshair with its read-out, and the rubber band, above the
// lines.
class PlotOverlay : public QGraphicsItem {
 public:
  struct Row {
    std::optional<SeriesStyle> style;  // of the line that it tells of, if it tells of one
    QString text;
    bool operator==(const Row&) const = default;
  };
  struct Mark {  // as PlotMark, in pixels
    double x = 0;
    Marker glyph = Marker::cross;
    QColor colour;
    QString text;
    bool operator==(const Mark&) const = default;
  };
  struct Content {
    QStringList badges;
    std::vector<Mark> marks;
    QString empty;            // shown in the middle when not empty
    std::optional<double> x;  // of the crosshair, in pixels
    QString heading;          // of the read-out
    std::vector<Row> rows;
    std::vector<std::pair<QPointF, QColor>> points;  // what is read
    QRectF band;
    bool operator==(const Content&) const = default;
  };
  explicit PlotOverlay(QGraphicsItem* parent) : QGraphicsItem(parent) {}
  void show(const QRectF& area, const PlotStyle& style, Content content);
  const Content& content() const { return content_; }
  QString marks_at(const QPointF& at) const;  // what those near it say, one a line
  QRectF boundingRect() const override { return area_.adjusted(0, -badge_strip(style_), 0, 0); }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) override;

 private:
  void paint_badges(QPainter& painter) const;
  double glyph_size() const;
  void paint_marks(QPainter& painter) const;
  void paint_crosshair(QPainter& painter) const;
  void paint_reading(QPainter& painter) const;

  QRectF area_;
  PlotStyle style_;
  Content content_;
};

// Where the read-out at the crosshair stands, and what its rows say there. It is as wide as the
// plot at most: what is too long loses the begin of its label, for the end tells apart, and no
// number.
struct ReadingLayout {
  QRectF box;
  QStringList rows;
};
ReadingLayout lay_out_reading(const PlotOverlay::Content& content, const QRectF& area,
                              const QFont& font);
std::size_t reading_rows(const QRectF& area,
                         const QFont& font);  // that fit below the heading; at least 2

}  // namespace trainyard::ui
