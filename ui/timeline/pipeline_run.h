// SPDX-License-Identifier: GPL-3.0-or-later
// Execution of a pipeline: steps of a run as cells, from its recorded ops. Pure.
#pragma once

#include "ui/model/plan/pipeline_plan.h"
#include "ui/model/spans/step_times.h"
#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

// Cell of each op, by rank and program, according to the plans that ranks recorded. Empty until the
// plans of all ranks are known.
using RecordedCells = std::vector<std::vector<OpCells>>;
RecordedCells recorded_cells(const SpanStore& spans, const PipelineShape& shape);

struct ExecutedStep {
  std::int32_t step = 0;
  std::string program;  // name of the program: "train"; empty if no op of the step is stored
  StepCells cells;
  // address of each cell's first op, by rank and cell
  std::vector<std::vector<SpanAddress>> places;
  // Number of ops of cells whose events were lost or dropped. If it is not 0, some gaps in the
  // picture are no idle time.
  std::size_t lacking = 0;
};
// Returns a step's cells. If a rank repeated a step after a restart, the last execution counts.
ExecutedStep ran_step(const SpanStore& spans, const RecordedCells& cells, const StepTime& step);

// Returns the last step reported by all ranks; nothing if there is none.
std::optional<std::int32_t> last_complete_step(const telemetry::History& history);
// Returns the last step up to `last` that has the full number of samples. If no step of an epoch is
// full, returns `last`.
std::int32_t last_full_step(std::int32_t last, const plan::Schedule& schedule);

}  // namespace trainyard::ui
