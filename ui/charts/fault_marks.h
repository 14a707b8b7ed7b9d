// SPDX-License-Identifier: GPL-3.0-or-later
// Faults of a run's ranks, as marks over its charts. Pure.
#pragma once

#include "ui/charts/plot_mark.h"
#include "ui/charts/run_lines.h"

namespace trainyard::ui {

// Returns the marks of the faults that the lines have reached. A mark has the step and time of the
// fault, and the number of samples and bytes of all ranks at that time, as far as they are
// reported. Its color is the rank's color, or the run's if several runs are shown.
std::vector<PlotMark> fault_marks(const telemetry::History& history,
                                  const ProgressCounter& progress,
                                  const std::optional<RunStyle>& run);

}  // namespace trainyard::ui
