// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of a chart: its colors and pens, and the overlay above its lines. Qt Charts paints
// frame, axes and grid.
#pragma once

#include <QFont>
#include <QGraphicsItem>
#include <QPen>
#include <QStringList>
#include <optional>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

// Line width and all colors except those of series, from the theme and a widget's font.
struct PlotStyle {
  QColor background, text, muted, grid, accent, warning;
  QFont font;
  double line_width = 1.5;
  bool operator==(const PlotStyle&) const = default;
};
PlotStyle plot_style(const QFont& font);

QColor color_of(const SeriesStyle& style);
// Returns the pen of a series. A pale series has a contrast of at least 3 with the card's
// background. `raw`: returns an even paler pen, for the unsmoothed values behind a smoothed line.
QPen series_pen(const SeriesStyle& style, double width, bool raw = false);
// Paints a sample of a series' line, for legend and read-out.
void paint_sample(QPainter& painter, const SeriesStyle& style, const QRectF& box);
QFont scaled(QFont font, double factor);

// Returns the height of the strip above the plot area for badges, so that they never cover a line.
double badge_strip(const PlotStyle& style);

// Returns the fill color of a series' area in a stack. It is opaque, because lower areas are
// painted over upper ones.
QColor area_color(const SeriesStyle& style, const QColor& background);

// Overlay above the lines: badges, marks, the empty state, the crosshair with its read-out, and the
// rubber band.
class PlotOverlay : public QGraphicsItem {
 public:
  struct Row {
    std::optional<SeriesStyle> style;  // style of the line that the row describes, if any
    QString text;
    bool operator==(const Row&) const = default;
  };
  struct Mark {  // a PlotMark with its position in pixels
    double x = 0;
    Marker glyph = Marker::cross;
    QColor color;
    QString text;
    bool operator==(const Mark&) const = default;
  };
  struct Content {
    QStringList badges;
    std::vector<Mark> marks;
    QString empty;            // text in the center of an empty plot; "" for no text
    std::optional<double> x;  // x position of the crosshair in pixels
    QString heading;          // heading of the read-out
    std::vector<Row> rows;
    std::vector<std::pair<QPointF, QColor>> points;  // positions and colors of the readings' points
    QRectF band;
    bool operator==(const Content&) const = default;
  };
  explicit PlotOverlay(QGraphicsItem* parent) : QGraphicsItem(parent) {}
  void show(const QRectF& area, const PlotStyle& style, Content content);
  const Content& content() const { return content_; }
  QString marks_at(const QPointF& at) const;  // texts of the marks near a point, one per line
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

// Layout of the read-out at the crosshair and of its rows. The read-out is at most as wide as the
// plot. A label that is too long is elided at its beginning, because labels differ at their end.
// Numbers are never elided.
struct ReadingLayout {
  QRectF box;
  QStringList rows;
};
ReadingLayout lay_out_reading(const PlotOverlay::Content& content, const QRectF& area,
                              const QFont& font);
std::size_t reading_rows(const QRectF& area,
                         // Returns the number of rows that fit below the read-out's heading; at
                         // least 2.
                         const QFont& font);

}  // namespace trainyard::ui
