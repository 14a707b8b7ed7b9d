// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the area to repaint when a line has grown.
#include <algorithm>
#include <limits>

#include "ui/charts/drawn_parts.h"
#include "ui/charts/plot_lines.h"

namespace trainyard::ui {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Compare exactly. The comparison operators of Qt are approximate and slower.
bool same(const QPointF& a, const QPointF& b) { return a.x() == b.x() && a.y() == b.y(); }
bool same(const QLineF& a, const QLineF& b) { return same(a.p1(), b.p1()) && same(a.p2(), b.p2()); }
bool same(const QRect& a, const QRect& b) { return a == b; }
bool same(double a, double b) { return a == b; }
bool same_look(const DrawnSeries& a, const DrawnSeries& b) {
  return a.pen == b.pen && a.fill == b.fill && a.dot_size == b.dot_size && a.marker == b.marker &&
         a.hollow == b.hollow;
}

void widen(Span& x, double to) { x = {std::min(x.low, to), std::max(x.high, to)}; }

// Extends the x range to repaint, so that it covers the old and new elements from the first
// different one to the end of both lists.
template <class Parts>
void widen(Span& x, const Parts& old, const Parts& now) {
  const auto [a, b] = std::mismatch(old.begin(), old.end(), now.begin(), now.end(),
                                    [](const auto& p, const auto& q) { return same(p, q); });
  if (a != old.end()) widen(x, left(*a)), widen(x, right(old.back()));
  if (b != now.end()) widen(x, left(*b)), widen(x, right(now.back()));
}

// Extends the x range to repaint, so that it covers all filled areas that differ. The edge before
// the first different corner is included, because it changes with that corner.
void widen_by_areas(Span& x, const std::vector<QPolygonF>& old, const std::vector<QPolygonF>& now) {
  const auto same_area = [](const QPolygonF& p, const QPolygonF& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(),
                      [](const QPointF& a, const QPointF& b) { return same(a, b); });
  };
  const auto [a, b] = std::mismatch(old.begin(), old.end(), now.begin(), now.end(), same_area);
  if (a == old.end() && b == now.end()) return;
  for (const auto* areas : {&old, &now})
    if (!areas->empty()) widen(x, areas->back().back().x());
  if (a == old.end() || b == now.end()) return widen(x, (a == old.end() ? *b : *a).front().x());
  const auto corner = std::mismatch(a->begin(), a->end(), b->begin(), b->end(),
                                    [](const QPointF& p, const QPointF& q) { return same(p, q); })
                          .first;
  widen(x,
        corner == a->begin() ? std::min(a->front().x(), b->front().x()) : std::prev(corner)->x());
}

Span difference(const DrawnSeries& old, const DrawnSeries& now) {
  Span x{kInfinity, -kInfinity};
  widen(x, old.lines, now.lines);
  widen(x, old.columns, now.columns);
  widen(x, old.dots, now.dots);
  widen(x, old.gaps, now.gaps);
  widen(x, old.beyond, now.beyond);
  widen_by_areas(x, old.areas, now.areas);
  const double margin = now.pen.widthF() + now.dot_size + 1;
  return {x.low - margin, x.high + margin};
}

}  // namespace

QRectF difference(const std::vector<DrawnSeries>& old, const std::vector<DrawnSeries>& now,
                  const QRectF& area) {
  if (!std::equal(old.begin(), old.end(), now.begin(), now.end(), same_look)) return area;
  Span x{kInfinity, -kInfinity};
  for (std::size_t i = 0; i < old.size(); ++i) {
    const Span own = difference(old[i], now[i]);
    if (own.low <= own.high) widen(x, own.low), widen(x, own.high);
  }
  return x.low > x.high ? QRectF()
                        : QRectF(QPointF(x.low, area.top()), QPointF(x.high, area.bottom())) & area;
}

}  // namespace trainyard::ui
