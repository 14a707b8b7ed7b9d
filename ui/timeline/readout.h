// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the read-out beside the pointer.
#pragma once

#include <QPainter>

#include "ui/timeline/span_text.h"
#include "ui/timeline/timeline_colors.h"

namespace trainyard::ui {

// Paints beside `pointer`, within a widget of size `widget`.
void paint_reading(QPainter& painter, const SpanText& words, const QPointF& pointer,
                   const QSize& widget, const TimelineColors& colors);

}  // namespace trainyard::ui
