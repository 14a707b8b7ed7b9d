// SPDX-License-Identifier: GPL-3.0-or-later
// Executed steps of a pipeline. Creates the cells of a step from the recorded ops of a run. Pure.
#pragma once

#include "ui/model/plan/pipeline_plan.h"
#include "ui/model/spans/step_times.h"
#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

// Pipeline cell of each op, by rank and program, from the plans that the ranks recorded. Empty
// until the plans of all ranks are known.
using RecordedCells = std::vector<std::vector<OpCells>>;
RecordedCells recorded_cells(const SpanStore& spans, const PipelineShape& shape);

struct ExecutedStep {
  std::int32_t step = 0;
  std::string program;  // name of the program: "train"; empty if no op of the step is stored
  StepCells cells;
  // Address (in the store of spans) of the first op of each cell, by rank and cell.
  std::vector<std::vector<SpanAddress>> places;
  // Number of ops that belong to cells and whose events were lost or dropped. If it is not 0, some
  // displayed gaps are not idle time.
  std::size_t lacking = 0;
};
// Returns the cells of a step. If a rank repeated the step after a restart, uses the rank's last
// execution.
ExecutedStep ran_step(const SpanStore& spans, const RecordedCells& cells, const StepTime& step);

// Returns the last step reported by all ranks; nothing if there is none.
std::optional<std::int32_t> last_complete_step(const telemetry::History& history);
// Returns the last step up to `last` that has the full number of samples. If no step of an epoch is
// full, returns `last`.
std::int32_t last_full_step(std::int32_t last, const plan::Schedule& schedule);

}  // namespace trainyard::ui
