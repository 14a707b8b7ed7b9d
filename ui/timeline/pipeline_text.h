// SPDX-License-Identifier: GPL-3.0-or-later
// Exact text about a pipeline, for the read-out, the lines below the chart, and screen readers.
#pragma once

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/span_text.h"

namespace trainyard::ui {

QString pass_text(experiment::Pass pass);  // "backward"
// index of the micro-batch, with a letter for the stage if the rank has several: "3b"
QString cell_label(const PipelineShape& shape, const experiment::Cell& cell);
QString block_title(const PipelinePicture& picture,
                    CellBlock block);  // content of the block and its duration
QString why_block_is_empty(const PipelinePicture& picture, CellBlock block);
// Describes a cell and compares it to the same cell of the other block.
SpanText span_text(const PipelinePicture& picture, const CellAddress& place);

// Describes the bubble by formula and by simulation, and the duration of the step.
QString planned_text(const PipelinePicture& picture);
QString measured_text(
    const PipelinePicture& picture);  // measured values, and their difference from the planned ones
QString bubble_help();                // explains in short how the bubbles are computed
QString pipeline_formulas();          // explains the formulas and their variables

}  // namespace trainyard::ui
