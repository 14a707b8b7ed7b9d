// SPDX-License-Identifier: GPL-3.0-or-later
// What a pipeline did: steps of a run, in cells, from its recorded ops. Pure.
#pragma once

#include "ui/model/pipeline_plan.h"
#include "ui/model/step_times.h"
#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

// By rank and program, which cell its ops belong to, as the recorded plans of ranks name them.
// Empty until all of them are there.
using RecordedCells = std::vector<std::vector<OpCells>>;
RecordedCells recorded_cells(const SpanStore& spans, const PipelineShape& shape);

struct RanStep {
  std::int32_t step = 0;
  std::string program;  // "train"; empty where nothing is held of the step
  StepCells cells;
  std::vector<std::vector<SpanPlace>> places;  // by rank and cell: of the cell's first op
  std::size_t lacking = 0;  // ops of cells that are not held: they were dropped, or are forgotten.
                            // The picture has gaps that were none
};
// Where a rank did a step anew, after a restart, the last time counts.
RanStep ran_step(const SpanStore& spans, const RecordedCells& cells, const StepTime& step);

// The last step that all ranks have reported; nothing before there is one.
std::optional<std::int32_t> last_whole_step(const telemetry::History& history);
// Of the steps up to `last` the one that stands for the run: the last that takes as many samples as
// most do. Where an epoch is too short for one, the last.
std::int32_t last_full_step(std::int32_t last, const plan::Schedule& schedule);

}  // namespace trainyard::ui
