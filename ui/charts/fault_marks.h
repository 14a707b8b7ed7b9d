// SPDX-License-Identifier: GPL-3.0-or-later
// What befell ranks of a run, as marks over its charts. Pure.
#pragma once

#include "ui/charts/plot_mark.h"
#include "ui/charts/run_lines.h"

namespace trainyard::ui {

// Of those to which the lines have come. Each at the step and the time in which it befell, and by
// what all ranks had done then, as far as they have said; in the colour of its rank, or of the run.
std::vector<PlotMark> fault_marks(const telemetry::History& history,
                                  const ProgressCounter& progress,
                                  const std::optional<RunLook>& run);

}  // namespace trainyard::ui
