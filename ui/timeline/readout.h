// SPDX-License-Identifier: GPL-3.0-or-later
// Read-out beside the pointer.
#pragma once

#include <QPainter>

#include "ui/timeline/timeline_colors.h"
#include "ui/timeline/timeline_words.h"

namespace trainyard::ui {

// Paints beside `pointer`, within a widget of size `widget`.
void paint_reading(QPainter& painter, const SpanWords& words, const QPointF& pointer,
                   const QSize& widget, const TimelineColors& colors);

}  // namespace trainyard::ui
