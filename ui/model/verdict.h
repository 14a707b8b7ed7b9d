// SPDX-License-Identifier: GPL-3.0-or-later
// Whether to distribute at all: the drawing is simulated against one of its devices with the same
// global batch. May take long: not for the GUI thread, and cancelled soon once `stop` asks for it.
#pragma once

#include <QString>
#include <stop_token>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/session/ways_to_fit.h"
#include "core/sim/verdict.h"

namespace trainyard::ui {

// `expanded` is the experiment's plan.
base::Result<sim::Verdict> simulated_verdict(const experiment::Resolved& experiment,
                                             const plan::Plan& expanded, std::stop_token stop = {});

// In one line: "As drawn: one device would be 1.8x faster here, because ..." Simulated ranks never
// share cores: where real ones would, that is said of the real run.
base::Result<QString> verdict_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
                                 std::stop_token stop = {});

// Of a full step as drawn, by the simulator.
base::Result<session::StepCost> cost_of_step(const experiment::Resolved& experiment,
                                             std::stop_token stop = {});

}  // namespace trainyard::ui
