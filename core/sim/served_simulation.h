// SPDX-License-Identifier: GPL-3.0-or-later
// The outcome of a plan with parameter servers, whose ranks have no steps in common: a step takes
// as long as lies between the ends of two, whoever made them.
#pragma once

#include "core/sim/simulator.h"

namespace trainyard::sim {

// As `simulate`, which calls it. Of Options: op events alone; the seed counts, and so do workers:
// at least kRounds rounds of each are simulated, where the run has so many.
base::Result<Outcome> simulate_served(const plan::Plan& plan, const topology::Network& network,
                                      const Options& options);

inline constexpr std::int64_t kRounds = 8;

}  // namespace trainyard::sim
