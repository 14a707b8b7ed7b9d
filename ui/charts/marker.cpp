// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/marker.h"

#include <QPainter>
#include <QPolygonF>

namespace trainyard::ui {
namespace {

// Returns the corners of a marker within the square from -1 to 1. All shapes have about the same
// area.
QPolygonF corners(Marker marker) {
  switch (marker) {
    case Marker::diamond: return {{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}};
    case Marker::square: return {{{-0.72, -0.72}, {0.72, -0.72}, {0.72, 0.72}, {-0.72, 0.72}}};
    case Marker::triangle: return {{{0, -1}, {1, 0.75}, {-1, 0.75}}};
    case Marker::cross:
      return {{{-0.35, -1},
               {0.35, -1},
               {0.35, -0.35},
               {1, -0.35},
               {1, 0.35},
               {0.35, 0.35},
               {0.35, 1},
               {-0.35, 1},
               {-0.35, 0.35},
               {-1, 0.35},
               {-1, -0.35},
               {-0.35, -0.35}}};
    case Marker::circle: break;
  }
  return {};
}

}  // namespace

void paint_marker(QPainter& painter, Marker marker, const QPointF& at, double size) {
  const double r = size / 2;
  if (marker == Marker::circle) return painter.drawEllipse(at, 0.85 * r, 0.85 * r);
  QPolygonF polygon = corners(marker);
  for (QPointF& corner : polygon) corner = at + r * corner;
  painter.drawPolygon(polygon);
}

}  // namespace trainyard::ui
