// SPDX-License-Identifier: GPL-3.0-or-later
// Text on the canvas, in pixels at 100 %. Each text is laid out once and cached, because most
// repeat every frame.
#pragma once

#include <QPainter>
#include <QString>

namespace trainyard::ui {

constexpr double kSmallSize = 11;  // size of text in pixels at 100 %

// True at scales where small text is unreadable and therefore omitted.
bool is_far(double scale);
// True at scales where boxes are drawn without rounded corners and all lines are one pixel wide.
bool is_tiny(double scale);

double scale_of(const QPainter& painter);
double width_of(const QString& text, double size, bool strong);
// Writes one vertically centered line. Text that does not fit is elided in the middle; text too
// small to see is omitted.
void write(QPainter& painter, const QRectF& where, Qt::Alignment align, const QString& text,
           double size, const QColor& color, bool strong = false);

}  // namespace trainyard::ui
