// SPDX-License-Identifier: GPL-3.0-or-later
// Advice whether distributed training is faster: compares the simulated drawing to one of its
// devices with the same global batch. May take long: do not call it on the GUI thread. Ends soon
// after `stop` is requested.
#pragma once

#include <QString>
#include <stop_token>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/session/advice/memory_advice.h"
#include "core/sim/verdict.h"

namespace trainyard::ui {

// `expanded` is the experiment's plan.
base::Result<sim::Verdict> simulate_verdict(const experiment::Resolved& experiment,
                                            const plan::Plan& expanded, std::stop_token stop = {});

// Returns the verdict in one line: "As drawn: one device would be 1.8x faster here, because ...".
// In the simulation, ranks never share cores. If they share cores in a run, the run shows a caveat.
base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
                                 std::stop_token stop = {});

// Returns the simulated cost of a full step as drawn.
base::Result<session::StepCost> cost_of_step(const experiment::Resolved& experiment,
                                             std::stop_token stop = {});

}  // namespace trainyard::ui
