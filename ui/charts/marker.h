// SPDX-License-Identifier: GPL-3.0-or-later
// The marks of points that no line joins. Shapes tell apart what has one colour, and what a
// colour-blind eye takes for one.
#pragma once

#include <QPointF>

class QPainter;

namespace trainyard::ui {

enum class Marker { diamond, square, circle, triangle, cross };
inline constexpr int kMarkers = 5;

// As wide as `size`, in the painter's pen and brush; a brush of none leaves an outline.
void paint_marker(QPainter& painter, Marker marker, const QPointF& at, double size);

}  // namespace trainyard::ui
