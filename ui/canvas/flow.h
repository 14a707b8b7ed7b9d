// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of links and buses, and the bytes that travel along them.
#pragma once

#include <QPainter>
#include <QPainterPath>

namespace trainyard::ui {

// A straight line is a line: the painter dashes and fills it many times faster than a path.
void stroke(QPainter& painter, const QPainterPath& path, const QPen& pen);

// Dashes that travel; their speed and width follow the logarithm of the rate. From afar they are as
// long on the screen as near, and one pixel wide.
void paint_flow(QPainter& painter, const QPainterPath& path, double bytes_per_second, bool forward,
                double clock_seconds);

QPointF aside(const QPainterPath& path, double distance);  // so far to the right of its direction

}  // namespace trainyard::ui
