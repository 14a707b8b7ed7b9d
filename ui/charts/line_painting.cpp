// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/line_painting.h"

#include <QPaintEngine>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <span>

#include "ui/charts/drawn_parts.h"

namespace trainyard::ui {
namespace {

// Height, in rows of pixels, of the bands in which lines are painted. Qt distributes fills of 96
// spans or more to other threads and waits for them. This takes 30 to 90 microseconds per tall
// line, and more while training processes use the cores. With three spans a row, a band stays below
// that limit.
constexpr double kBandRows = 30;

// Splits the exposed area into bands of full device rows, at any scaling. Dashed lines are not
// split into bands, because their dashes continue over the full line; few lines are dashed.
std::vector<QRectF> bands(const QPainter& painter, const QRectF& exposed, const QPen& pen) {
  if (painter.paintEngine()->type() != QPaintEngine::Raster || pen.style() != Qt::SolidLine)
    return {exposed};
  const QTransform to_device = painter.deviceTransform();
  const double rows = std::max(to_device.m22(), 1e-3),
               first = std::floor(to_device.m22() * exposed.top() + to_device.dy());
  std::vector<QRectF> cut;
  double top = exposed.top();
  for (int i = 1; top < exposed.bottom(); ++i) {
    const double bottom =
        std::min((first + i * kBandRows - to_device.dy()) / rows, exposed.bottom());
    cut.emplace_back(exposed.left(), top, exposed.width(), bottom - top);
    top = bottom;
  }
  return cut;
}

// True if the painter supports clipping. The SVG painter does not, so filled areas are intersected
// with the exposed rectangle instead.
bool clips(const QPainter& painter) { return painter.paintEngine()->type() != QPaintEngine::SVG; }

QRectF grown(const QRectF& part, double margin) {
  return part.adjusted(-margin, -margin, margin, margin);
}

Span span_across(const QRectF& part) { return {part.left(), part.right()}; }

// Returns the elements of a sorted list that overlap the range `x`.
template <class Element>
std::span<const Element> within(const std::vector<Element>& elements, Span x) {
  const auto begin =
      std::partition_point(elements.begin(), elements.end(),
                           [&](const Element& element) { return right(element) < x.low; });
  const auto end = std::partition_point(
      begin, elements.end(), [&](const Element& element) { return left(element) <= x.high; });
  return {begin, end};
}

// Returns the part of the area within the range `x`.
QPolygonF within(const QPolygonF& area, Span x) {
  // The first and last corner of the area are on the zero line, so they are not searched.
  const auto first = area.begin() + 1, last = area.end() - 1;
  auto begin =
      std::partition_point(first, last, [&](const QPointF& corner) { return corner.x() < x.low; });
  auto end = std::partition_point(begin, last,
                                  [&](const QPointF& corner) { return corner.x() <= x.high; });
  if (begin != first) --begin;
  if (end != last) ++end;
  QPolygonF part;
  if (begin == end) return part;
  part.reserve(end - begin + 2);
  part << QPointF(begin->x(), area.front().y());
  std::copy(begin, end, std::back_inserter(part));
  part << QPointF(part.back().x(), area.front().y());
  return part;
}

// Paints rectangles that are aligned to pixels. Rectangles that Qt had to scale would take a
// hundred times as long.
void paint_rects(QPainter& painter, std::vector<QRect> rects, const QColor& color,
                 const LineTransforms& ground) {
  if (rects.empty()) return;
  if (!ground.lines.isIdentity())
    for (QRect& rect : rects) rect = ground.lines.mapRect(QRectF(rect)).toRect();
  painter.save();
  painter.setTransform(ground.own);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawRects(rects.data(), static_cast<int>(rects.size()));
  painter.restore();
}

std::vector<QRect> columns_within(const DrawnSeries& drawn, const QRectF& part) {
  std::vector<QRect> columns;
  for (const QRect& column : within(drawn.columns, span_across(part)))
    if (column.top() <= part.bottom() && column.bottom() + 1 >= part.top())
      columns.push_back(column);
  return columns;
}

// Returns the rectangles that fill the area between the line's columns of pixels and zero.
std::vector<QRect> filled_within(const DrawnSeries& drawn, const QRectF& part) {
  std::vector<QRect> filled;
  const int zero = static_cast<int>(std::lround(drawn.zero));
  for (const QRect& column : within(drawn.columns, span_across(part)))
    if (column.bottom() < part.bottom() && zero >= part.top())
      filled.emplace_back(column.bottomLeft() + QPoint(0, 1), QPoint(column.right(), zero));
  return filled;
}

void paint_areas(QPainter& painter, const DrawnSeries& drawn, const QRectF& exposed,
                 const QRectF& part, const LineTransforms& ground) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(drawn.fill);
  for (const QPolygonF& area : drawn.areas) {
    const QPolygonF reaching = within(area, span_across(part));
    painter.drawPolygon(clips(painter) ? reaching : reaching.intersected(QPolygonF(exposed)));
  }
  paint_rects(painter, filled_within(drawn, part), drawn.fill, ground);
}

std::vector<QLineF> lines_within(const DrawnSeries& drawn, const QRectF& part) {
  std::vector<QLineF> lines;
  for (const QLineF& line : within(drawn.lines, span_across(part)))
    if (std::min(line.y1(), line.y2()) <= part.bottom() &&
        std::max(line.y1(), line.y2()) >= part.top())
      lines.push_back(line);
  return lines;
}

void paint_lines(QPainter& painter, const DrawnSeries& drawn, const QRectF& exposed, double margin,
                 const LineTransforms& ground) {
  painter.save();
  for (const QRectF& band : bands(painter, exposed, drawn.pen)) {
    const QRectF part = grown(band, margin);
    painter.setClipRect(band);
    painter.setPen(drawn.pen);
    const auto lines = lines_within(drawn, part);
    painter.drawLines(lines.data(), static_cast<int>(lines.size()));
    paint_rects(painter, columns_within(drawn, part), drawn.pen.color(), ground);
  }
  painter.restore();
}

// Marks gaps at the lower edge, in the color of the line that they interrupt. Neighboring gaps have
// separate, low marks, because a bar would look like values.
void paint_gaps(QPainter& painter, const DrawnSeries& drawn, Span x, double foot) {
  QColor color = drawn.pen.color();
  color.setAlpha(255);
  const double width = 2, apart = 2 * width,
               height = std::round(std::max(5.0, 3 * drawn.pen.widthF()));
  for (const double at : within(drawn.gaps, x))
    painter.fillRect(
        QRectF(std::floor(at / apart) * apart, std::round(foot - height), width, height), color);
}

// Paints arrowheads at the upper edge for points above the plot. Where there are many such points,
// the arrowheads touch, and the number of arrowheads has no meaning.
void paint_beyond(QPainter& painter, const DrawnSeries& drawn, Span x) {
  constexpr double kWidth = 8, kHeight = 6;
  QColor color = drawn.pen.color();
  color.setAlpha(255);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  double last = -kWidth;
  for (const QPointF& at : within(drawn.beyond, {x.low - kWidth, x.high + kWidth})) {
    const double middle = std::floor(at.x() / kWidth) * kWidth + kWidth / 2;
    if (middle == last) continue;
    last = middle;
    painter.drawPolygon(
        QPolygonF({QPointF(middle, at.y()), QPointF(middle + kWidth / 2 - 1, at.y() + kHeight),
                   QPointF(middle - kWidth / 2 + 1, at.y() + kHeight)}));
  }
}

void paint_dots(QPainter& painter, const DrawnSeries& drawn, Span x) {
  painter.setPen(drawn.hollow ? QPen(drawn.pen.color(), drawn.pen.widthF()) : QPen(Qt::NoPen));
  painter.setBrush(drawn.hollow ? QBrush() : QBrush(drawn.pen.color()));
  for (const QPointF& dot : within(drawn.dots, x))
    paint_marker(painter, drawn.marker, dot, drawn.dot_size);
}

}  // namespace

void paint_series(QPainter& painter, const DrawnSeries& drawn, const QRectF& exposed, double foot,
                  const LineTransforms& ground) {
  // Includes elements just outside of the exposed area, because their strokes may extend into it.
  const double margin = drawn.pen.widthF() + drawn.dot_size + 1;
  const QRectF part = grown(exposed, margin);
  if (drawn.fill.isValid()) paint_areas(painter, drawn, exposed, part, ground);
  paint_gaps(painter, drawn, span_across(part), foot);
  paint_lines(painter, drawn, exposed, margin, ground);
  paint_dots(painter, drawn, span_across(part));
  paint_beyond(painter, drawn, span_across(part));
}

}  // namespace trainyard::ui
