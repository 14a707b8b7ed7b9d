// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a pipeline as in papers. A cell has the color of its pass and the number of its
// micro-batch. Idle time is hatched.
#pragma once

#include <QPainter>

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/timeline_colors.h"

namespace trainyard::ui {

// Returns the color of a pass from the theme's colors: shades of the color of compute, which differ
// for each stage of a rank.
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
