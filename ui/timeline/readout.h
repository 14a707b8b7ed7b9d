// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a box with text beside the pointer: the read-out.
#pragma once

#include <QPainter>

#include "ui/timeline/span_text.h"
#include "ui/timeline/timeline_colors.h"

namespace trainyard::ui {

// Paints the read-out beside `pointer`, inside a widget of the size `widget`.
void paint_reading(QPainter& painter, const SpanText& words, const QPointF& pointer,
                   const QSize& widget, const TimelineColors& colors);

}  // namespace trainyard::ui
