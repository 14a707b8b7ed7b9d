// SPDX-License-Identifier: GPL-3.0-or-later
// Text about a pipeline with exact values, for the read-out under the pointer, the lines below the
// chart, and screen readers.
#pragma once

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/span_text.h"

namespace trainyard::ui {

QString pass_text(experiment::Pass pass);  // "backward"
// returns the number of the cell's micro-batch; if the rank has several stages, a letter for the
// stage follows: "3b"
QString cell_label(const PipelineShape& shape, const experiment::Cell& cell);
QString block_title(const PipelinePicture& picture,
                    CellBlock block);  // content of the block and its duration
QString why_block_is_empty(const PipelinePicture& picture, CellBlock block);
// Describes a pipeline cell, and compares its times with those of the same pass in the other block
// (planned or executed step).
SpanText span_text(const PipelinePicture& picture, const CellAddress& place);

// Returns a line about the planned step: its bubble by formula and by simulation, and its duration.
QString planned_text(const PipelinePicture& picture);
QString measured_text(
    const PipelinePicture& picture);  // measured values, and their difference from the planned ones
QString bubble_help();                // explains in short how the bubbles are computed
QString pipeline_formulas();          // explains the formulas and their variables

}  // namespace trainyard::ui
