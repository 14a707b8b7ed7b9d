// SPDX-License-Identifier: GPL-3.0-or-later
// Text on the canvas, in pixels at 100 %. Each text is laid out once for all the times it is
// painted: most come back every frame.
#pragma once

#include <QPainter>
#include <QString>

namespace trainyard::ui {

double scale_of(const QPainter& painter);
double width_of(const QString& text, double size, bool strong);
// Centred vertically; one line; what does not fit loses its middle. What would be too small to see
// is left out.
void write(QPainter& painter, const QRectF& where, Qt::Alignment align, const QString& text,
           double size, const QColor& colour, bool strong = false);

}  // namespace trainyard::ui
