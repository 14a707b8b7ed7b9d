// SPDX-License-Identifier: GPL-3.0-or-later
// Marker shapes for points that no line joins. The shapes distinguish series of equal color, and
// colors that look alike to color-blind users.
#pragma once

#include <QPointF>

class QPainter;

namespace trainyard::ui {

enum class Marker { diamond, square, circle, triangle, cross };
inline constexpr int kMarkers = 5;

// Paints a marker of width `size` with the painter's pen and brush; without a brush only the
// outline.
void paint_marker(QPainter& painter, Marker marker, const QPointF& at, double size);

}  // namespace trainyard::ui
