// SPDX-License-Identifier: GPL-3.0-or-later
// Something that happened while lines grew: a thin line over the height of a plot, with a glyph at
// its top.
#pragma once

#include <QString>

#include "ui/charts/marker.h"
#include "ui/model/series.h"

namespace trainyard::ui {

struct PlotMark {
  SeriesPoint at;  // of which the value says nothing
  Marker glyph = Marker::cross;
  int colour = 0;  // of the theme's series; negative: of none, as of a link
  QString text;    // under the pointer
};

}  // namespace trainyard::ui
