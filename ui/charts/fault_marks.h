// SPDX-License-Identifier: GPL-3.0-or-later
// Faults of a run's ranks, as marks over its charts. Pure.
#pragma once

#include "ui/charts/plot_mark.h"
#include "ui/charts/run_lines.h"

namespace trainyard::ui {

// Returns the marks of the faults that the chart's lines have reached. A mark has the step and time
// of the fault, and the samples and bytes of all ranks at that step, as far as the ranks have
// reported them. The mark's color is that of the rank, or that of the run if several runs are
// shown.
std::vector<PlotMark> fault_marks(const telemetry::History& history,
                                  const ProgressCounter& progress,
                                  const std::optional<RunStyle>& run);

}  // namespace trainyard::ui
