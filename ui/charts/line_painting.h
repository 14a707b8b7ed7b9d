// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTransform>

#include "ui/charts/drawn_series.h"

class QPainter;

namespace trainyard::ui {

// Two transforms of the painter: `own` is its initial transform; `lines` maps the stored lines to
// pixels.
struct LineTransforms {
  QTransform own, lines;
};

// Paints the part of a series inside `exposed`, which is a rectangle of the plot area. `foot` is
// the lower edge of the plot area. The painter must have antialiasing enabled and use
// `ground.lines` as its transform.
void paint_series(QPainter& painter, const DrawnSeries& drawn, const QRectF& exposed, double foot,
                  const LineTransforms& ground);

}  // namespace trainyard::ui
