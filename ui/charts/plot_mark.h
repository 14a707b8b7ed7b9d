// SPDX-License-Identifier: GPL-3.0-or-later
// Mark of an event on a plot: a thin line over its full height, with a glyph at the top.
#pragma once

#include <QString>

#include "ui/charts/marker.h"
#include "ui/model/series/series.h"

namespace trainyard::ui {

struct PlotMark {
  SeriesPoint at;  // position; the point's value is unused
  Marker glyph = Marker::cross;
  // Color of the mark, as an index in the theme's series colors. Negative if the mark belongs to no
  // rank, such as a fault of a link.
  int color = 0;
  QString text;  // tool tip
};

}  // namespace trainyard::ui
