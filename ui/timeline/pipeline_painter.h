// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a pipeline as papers do: cells in the colour of their pass with the number of their
// micro-batch, and hatched what is idle between.
#pragma once

#include <QPainter>

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/timeline_colours.h"

namespace trainyard::ui {

// Of the theme's: shades of computing, and for a rank's later stages another shade of each.
QColor pass_colour(const TimelineColours& colours, experiment::Pass pass, int chunk, int chunks);
struct IdleColours {
  QColor line, ground;
};
IdleColours idle_colours(const TimelineColours& colours);

struct CellMarks {
  std::optional<CellPlace> hovered,
      selected;  // cells of the micro-batch that is pointed at are framed, in both blocks
  bool focused = false;
};
void paint_pipeline(QPainter& painter, const PipelineScene& scene, const TimelineColours& colours,
                    const CellMarks& marks);

}  // namespace trainyard::ui
