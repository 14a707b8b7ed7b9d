// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of links and buses, and animated traffic along them.
#pragma once

#include <QPainter>
#include <QPainterPath>

namespace trainyard::ui {

// Strokes a path. A straight path is drawn as a line, which the painter dashes and fills many times
// faster.
void stroke(QPainter& painter, const QPainterPath& path, const QPen& pen);

// Paints moving dashes; speed and width grow with the logarithm of the rate. When zoomed out,
// dashes keep their length on screen and are one pixel wide.
void paint_flow(QPainter& painter, const QPainterPath& path, double bytes_per_second, bool forward,
                double clock_seconds);

// point beside the path, `distance` to the right of its direction
QPointF offset_point(const QPainterPath& path, double distance);

}  // namespace trainyard::ui
