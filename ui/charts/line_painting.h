// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTransform>

#include "ui/charts/plot_lines.h"

class QPainter;

namespace trainyard::ui {

// What a painter starts from, and how lines stand on it.
struct Ground {
  QTransform own, lines;
};

// What of a series lies in `exposed`, a part of the area that its lines were made for and that ends
// at `foot`. The painter stands on the ground of lines, and smooths.
void paint_series(QPainter& painter, const DrawnSeries& drawn, const QRectF& exposed, double foot,
                  const Ground& ground);

}  // namespace trainyard::ui
