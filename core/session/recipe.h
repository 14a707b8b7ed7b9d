// SPDX-License-Identifier: GPL-3.0-or-later
// What the experiment says of optimizer and schedule, as the interpreter needs it.
#pragma once

#include "core/experiment/resolve.h"
#include "core/run/bound_plan.h"

namespace trainyard::session {

run::Recipe recipe(const experiment::Resolved& experiment);

// Whether a rank draws its initial parameters itself. Where the plan broadcasts them, its root alone does.
bool initialises(const plan::RankPlan& rank);

}  // namespace trainyard::session
