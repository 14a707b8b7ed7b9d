// SPDX-License-Identifier: GPL-3.0-or-later
// Returns the left and right end, in x, of an element of a drawn series: a line, column, point or
// mark.
#pragma once

#include <QLineF>
#include <QRect>

namespace trainyard::ui {

inline double left(const QLineF& line) { return line.x1(); }
inline double right(const QLineF& line) { return line.x2(); }
inline double left(const QRect& column) { return column.left(); }
inline double right(const QRect& column) { return column.left() + 1; }
inline double left(const QPointF& point) { return point.x(); }
inline double right(const QPointF& point) { return point.x(); }
inline double left(double x) { return x; }
inline double right(double x) { return x; }

}  // namespace trainyard::ui
