// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/experiment/resolve.h"
#include "core/sim/simulator.h"

namespace trainyard::tests {

// Simulates a valid experiment: `steps` steps, and an extrapolation of the others.
sim::Outcome simulated_steps(const experiment::Experiment& e, std::int64_t steps);

}  // namespace trainyard::tests
