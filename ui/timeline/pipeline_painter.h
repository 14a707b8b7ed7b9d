// SPDX-License-Identifier: GPL-3.0-or-later
// Paints the cells of a pipeline schedule, as in papers. A cell is one pass of one micro-batch; it
// has the color of the pass and the number of the micro-batch. Idle time is hatched.
#pragma once

#include <QPainter>

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/timeline_colors.h"

namespace trainyard::ui {

// Returns the color of a pass. It is a shade of the theme's color for compute. Each stage of a rank
// has a different shade.
QColor pass_color(const TimelineColors& colors, experiment::Pass pass, int chunk, int chunks);
struct IdleColors {
  QColor line, ground;
};
IdleColors idle_colors(const TimelineColors& colors);

struct CellMarks {
  std::optional<CellAddress> hovered,
      selected;  // cells of the micro-batch under the pointer are framed, in both blocks
  bool focused = false;
};
void paint_pipeline(QPainter& painter, const PipelineScene& scene, const TimelineColors& colors,
                    const CellMarks& marks);

}  // namespace trainyard::ui
