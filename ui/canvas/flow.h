// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of links and buses, and animated traffic along them.
#pragma once

#include <QPainter>
#include <QPainterPath>

namespace trainyard::ui {

// Strokes a path. A straight path is drawn as a line, because the painter draws dashed lines many
// times faster than dashed paths.
void stroke(QPainter& painter, const QPainterPath& path, const QPen& pen);

// Paints traffic as moving dashes, whose speed and width grow with the logarithm of the rate. When
// the canvas is zoomed out, dashes keep their length on screen and are one pixel wide.
void paint_flow(QPainter& painter, const QPainterPath& path, double bytes_per_second, bool forward,
                double clock_seconds);

// Returns a point beside the path, `distance` pixels to the right of the path's direction.
QPointF offset_point(const QPainterPath& path, double distance);

}  // namespace trainyard::ui
