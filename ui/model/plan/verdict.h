// SPDX-License-Identifier: GPL-3.0-or-later
// Verdict on whether distributed training is faster. It compares a simulation of the drawing with a
// simulation of one of its devices, for the same global batch. Computing it may take long: do not
// call it on the GUI thread. It ends soon after `stop` is requested.
#pragma once

#include <QString>
#include <stop_token>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/session/advice/memory_advice.h"
#include "core/sim/verdict.h"
#include "core/sim/watch.h"

namespace trainyard::ui {

// Simulates the experiment and one device, and compares their speed. `expanded` is the plan of the
// experiment, with its collectives expanded.
base::Result<sim::Verdict> simulate_verdict(const experiment::Resolved& experiment,
                                            const plan::Plan& expanded,
                                            const sim::Watch& watch = {});

// Returns the verdict in one line: "As drawn: one device would be 1.8x faster here, because ...".
// The simulation assumes that ranks do not share cores. If ranks share cores in a run, the run
// shows a caveat.
base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
                                 const sim::Watch& watch = {});

// Returns the text of a simulation in progress: "Simulating: 42 %, about 3 s left."
QString simulation_progress_text(double fraction, double elapsed_seconds);

// Returns the simulated time and other costs of a full step of the drawn experiment.
base::Result<session::StepCost> cost_of_step(const experiment::Resolved& experiment,
                                             std::stop_token stop = {});

}  // namespace trainyard::ui
