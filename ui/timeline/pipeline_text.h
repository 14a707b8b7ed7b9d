// SPDX-License-Identifier: GPL-3.0-or-later
// Exact text about a pipeline: for read-outs, lines and screen readers.
#pragma once

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/span_text.h"

namespace trainyard::ui {

QString pass_text(experiment::Pass pass);  // "backward"
QString cell_label(
    const PipelineShape& shape,
    const experiment::Cell& cell);  // its micro-batch, and its stage if a rank has several: "3b"
QString block_title(const PipelinePicture& picture,
                    CellBlock block);  // content of the block and its duration
QString why_block_is_empty(const PipelinePicture& picture, CellBlock block);
SpanText span_text(const PipelinePicture& picture,
                   // describes a cell, compared to the same cell of the other block
                   const CellAddress& place);

// the bubble by formula and by simulation, and the step's duration
QString planned_text(const PipelinePicture& picture);
QString measured_text(
    const PipelinePicture& picture);  // measured values, and their difference from the planned ones
QString bubble_help();                // short explanation of how they are computed
QString pipeline_formulas();          // explanation of the formulas and their variables

}  // namespace trainyard::ui
