// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a pipeline as in papers: cells in the color of their pass with the number of their
// micro-batch; idle time is hatched.
#pragma once

#include <QPainter>

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/timeline_colours.h"

namespace trainyard::ui {

// Colors from the theme: shades of compute, with a different shade for each later stage of a rank.
QColor pass_colour(const TimelineColours& colours, experiment::Pass pass, int chunk, int chunks);
struct IdleColours {
  QColor line, ground;
};
IdleColours idle_colours(const TimelineColours& colours);

struct CellMarks {
  std::optional<CellPlace> hovered,
      selected;  // cells of the micro-batch under the pointer are framed, in both blocks
  bool focused = false;
};
void paint_pipeline(QPainter& painter, const PipelineScene& scene, const TimelineColours& colours,
                    const CellMarks& marks);

}  // namespace trainyard::ui
