// SPDX-License-Identifier: GPL-3.0-or-later
// Options of simulations that predict a run.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/sim/simulator.h"

namespace trainyard::session {

// Returns options with the default number of steps: jitter and rows as in the run, and transfers
// during compute ops if devices are paced.
base::Result<sim::Options> simulation_options(const experiment::Resolved& experiment,
                                              const plan::Plan& plan);

}  // namespace trainyard::session
