// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of a pipeline beside its picture, exactly: for read-outs, lines and screen readers.
#pragma once

#include "ui/timeline/pipeline_picture.h"
#include "ui/timeline/timeline_words.h"

namespace trainyard::ui {

QString pass_words(experiment::Pass pass);  // "backward"
QString cell_label(const PipelineShape& shape,
                   const experiment::Cell&
                       cell);  // its micro-batch, and where a rank has several stages which: "3b"
QString block_title(const PipelinePicture& picture,
                    CellBlock block);  // what it shows, and how long that takes
QString why_block_is_empty(const PipelinePicture& picture, CellBlock block);
SpanWords words_of(const PipelinePicture& picture,
                   const CellPlace& place);  // of a cell, beside the same one of the other block

QString planned_words(const PipelinePicture& picture);  // the bubble by formula and simulated, and
                                                        // how long the step takes
QString measured_words(
    const PipelinePicture& picture);  // what came of it, and how far that is from these
QString bubble_help();                // in short, how these are reckoned
QString pipeline_formulas();          // what they mean, with what they are reckoned by

}  // namespace trainyard::ui
