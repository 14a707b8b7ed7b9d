// SPDX-License-Identifier: GPL-3.0-or-later
// One series, ready to draw. The elements of each list are in order from left to right.
#pragma once

#include <QPen>
#include <QPolygonF>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

struct DrawnSeries {
  QPen pen;
  std::vector<QLineF> lines;
  // Columns of pixels that the lines cross, each as a rectangle one pixel wide. Used instead of
  // `lines` where points are denser than pixels.
  std::vector<QRect> columns;
  std::vector<QPointF> dots;  // points without a line
  std::vector<QPolygonF>
      areas;  // areas between the lines and zero, if `fill` is valid; columns are then filled too
  std::vector<double> gaps;     // x of values that the scale cannot show; marked at the lower edge
  std::vector<QPointF> beyond;  // points above the plot area; marked at its upper edge
  bool marks_beyond = false;    // true: points above the plot area are put into `beyond`
  QColor fill;
  double zero = 0;  // y of value 0, where areas begin
  double dot_size = 3;
  Marker marker = Marker::circle;
  bool hollow = false;
};

}  // namespace trainyard::ui
