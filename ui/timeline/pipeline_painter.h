// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a pipeline as in papers: cells in the color of their pass with the number of their
// micro-batch; idle time is hatched.
#pragma once

#include <QPainter>

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/timeline_colors.h"

namespace trainyard::ui {

// Colors from the theme: shades of compute, with a different shade for each later stage of a rank.
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
