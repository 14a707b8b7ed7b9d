// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_lines.h"

#include <QPainter>
#include <QStyleOptionGraphicsItem>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace trainyard::ui {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where each kind of part begins and ends, from left to right.
double left(const QLineF& line) { return line.x1(); }
double right(const QLineF& line) { return line.x2(); }
double left(const QRect& column) { return column.left(); }
double right(const QRect& column) { return column.left() + 1; }
double left(const QPointF& point) { return point.x(); }
double right(const QPointF& point) { return point.x(); }
double left(double x) { return x; }
double right(double x) { return x; }

// To the bit: Qt's own comparisons allow for a difference, and take longer.
bool same(const QPointF& a, const QPointF& b) { return a.x() == b.x() && a.y() == b.y(); }
bool same(const QLineF& a, const QLineF& b) { return same(a.p1(), b.p1()) && same(a.p2(), b.p2()); }
bool same(const QRect& a, const QRect& b) { return a == b; }
bool same(double a, double b) { return a == b; }
bool same_look(const DrawnSeries& a, const DrawnSeries& b) {
  return a.pen == b.pen && a.fill == b.fill && a.dot_size == b.dot_size && a.diamonds == b.diamonds;
}

void widen(Span& x, double to) { x = {std::min(x.low, to), std::max(x.high, to)}; }

// From the first part that is another one to the end.
template <class Parts>
void widen(Span& x, const Parts& old, const Parts& now) {
  const auto [a, b] = std::mismatch(old.begin(), old.end(), now.begin(), now.end(), [](const auto& p, const auto& q) { return same(p, q); });
  if (a != old.end()) widen(x, left(*a)), widen(x, right(old.back()));
  if (b != now.end()) widen(x, left(*b)), widen(x, right(now.back()));
}

// An edge before the first corner that is another one changes too.
void widen_by_areas(Span& x, const std::vector<QPolygonF>& old, const std::vector<QPolygonF>& now) {
  const auto same_area = [](const QPolygonF& p, const QPolygonF& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(), [](const QPointF& a, const QPointF& b) { return same(a, b); });
  };
  const auto [a, b] = std::mismatch(old.begin(), old.end(), now.begin(), now.end(), same_area);
  if (a == old.end() && b == now.end()) return;
  for (const auto* areas : {&old, &now})
    if (!areas->empty()) widen(x, areas->back().back().x());
  if (a == old.end() || b == now.end()) return widen(x, (a == old.end() ? *b : *a).front().x());
  const auto corner = std::mismatch(a->begin(), a->end(), b->begin(), b->end(), [](const QPointF& p, const QPointF& q) { return same(p, q); }).first;
  widen(x, corner == a->begin() ? std::min(a->front().x(), b->front().x()) : std::prev(corner)->x());
}

Span difference(const DrawnSeries& old, const DrawnSeries& now) {
  Span x{kInfinity, -kInfinity};
  widen(x, old.lines, now.lines);
  widen(x, old.columns, now.columns);
  widen(x, old.dots, now.dots);
  widen(x, old.gaps, now.gaps);
  widen_by_areas(x, old.areas, now.areas);
  const double margin = now.pen.widthF() + now.dot_size + 1;
  return {x.low - margin, x.high + margin};
}

// The parts that reach into `x`.
template <class Part>
std::span<const Part> within(const std::vector<Part>& parts, Span x) {
  const auto begin = std::partition_point(parts.begin(), parts.end(), [&](const Part& part) { return right(part) < x.low; });
  const auto end = std::partition_point(begin, parts.end(), [&](const Part& part) { return left(part) <= x.high; });
  return {begin, end};
}

// Cut off to the left and to the right of `x`, at corners.
QPolygonF within(const QPolygonF& area, Span x) {
  const auto first = area.begin() + 1, last = area.end() - 1;  // the others are its feet
  auto begin = std::partition_point(first, last, [&](const QPointF& corner) { return corner.x() < x.low; });
  auto end = std::partition_point(begin, last, [&](const QPointF& corner) { return corner.x() <= x.high; });
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

void paint_areas(QPainter& painter, const DrawnSeries& drawn, Span x) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(drawn.fill);
  for (const QPolygonF& area : drawn.areas) painter.drawPolygon(within(area, x));
}

// In the colour of the line that is broken there. Where it is for long they stay marks, low and apart: a bar would look like values.
void paint_gaps(QPainter& painter, const DrawnSeries& drawn, Span x, double foot) {
  QColor colour = drawn.pen.color();
  colour.setAlpha(255);
  const double width = 2, apart = 2 * width, height = std::round(std::max(5.0, 3 * drawn.pen.widthF()));
  for (const double at : within(drawn.gaps, x)) painter.fillRect(QRectF(std::floor(at / apart) * apart, std::round(foot - height), width, height), colour);
}

void paint_columns(QPainter& painter, const DrawnSeries& drawn, Span x) {
  const auto columns = within(drawn.columns, x);
  painter.setRenderHint(QPainter::Antialiasing, false);  // whole pixels, the fast way
  painter.setPen(Qt::NoPen);
  painter.setBrush(drawn.pen.color());
  painter.drawRects(columns.data(), static_cast<int>(columns.size()));
  painter.setRenderHint(QPainter::Antialiasing);
}

void paint_dots(QPainter& painter, const DrawnSeries& drawn, Span x) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(drawn.pen.color());
  const double r = drawn.dot_size / 2;
  for (const QPointF& dot : within(drawn.dots, x)) {
    if (drawn.diamonds) painter.drawPolygon(QPolygonF({dot + QPointF(0, -r), dot + QPointF(r, 0), dot + QPointF(0, r), dot + QPointF(-r, 0)}));
    else painter.drawEllipse(dot, r, r);
  }
}

}  // namespace

QRectF difference(const std::vector<DrawnSeries>& old, const std::vector<DrawnSeries>& now, const QRectF& area) {
  if (!std::equal(old.begin(), old.end(), now.begin(), now.end(), same_look)) return area;
  Span x{kInfinity, -kInfinity};
  for (std::size_t i = 0; i < old.size(); ++i) {
    const Span own = difference(old[i], now[i]);
    if (own.low <= own.high) widen(x, own.low), widen(x, own.high);
  }
  return x.low > x.high ? QRectF() : QRectF(QPointF(x.low, area.top()), QPointF(x.high, area.bottom())) & area;
}

PlotLines::PlotLines(QGraphicsItem* parent) : QGraphicsItem(parent) { setFlag(ItemUsesExtendedStyleOption); }

void PlotLines::show(const QRectF& area, std::vector<DrawnSeries> series) {
  const bool moved = area != made_for_ || area != now_;
  const QRectF stale = moved ? area : difference(series_, series, area);
  if (moved) prepareGeometryChange();
  made_for_ = now_ = area;
  series_ = std::move(series);
  if (!stale.isEmpty()) update(stale);
}

void PlotLines::move_to(const QRectF& area) {
  if (area == now_) return;
  prepareGeometryChange();
  now_ = area;
  update();
}

QTransform PlotLines::placing() const {
  if (made_for_ == now_ || made_for_.isEmpty() || now_.isEmpty()) return {};
  const double across = now_.width() / made_for_.width(), up = now_.height() / made_for_.height();
  return {across, 0, 0, up, now_.left() - across * made_for_.left(), now_.top() - up * made_for_.top()};
}

void PlotLines::paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget*) {
  const QTransform to_now = placing();
  const QRectF exposed = to_now.inverted().mapRect(option->exposedRect);
  painter->setTransform(to_now, true);
  painter->setClipRect(made_for_);
  painter->setRenderHint(QPainter::Antialiasing);
  for (const DrawnSeries& drawn : series_) {
    const double margin = drawn.pen.widthF() + drawn.dot_size + 1;  // what stands beside may reach in
    const Span x{exposed.left() - margin, exposed.right() + margin};
    paint_areas(*painter, drawn, x);
    paint_gaps(*painter, drawn, x, made_for_.bottom());
    painter->setPen(drawn.pen);
    const auto lines = within(drawn.lines, x);
    painter->drawLines(lines.data(), static_cast<int>(lines.size()));
    paint_columns(*painter, drawn, x);
    paint_dots(*painter, drawn, x);
  }
}

}  // namespace trainyard::ui
