// SPDX-License-Identifier: GPL-3.0-or-later
// Simulates a plan with parameter servers, whose workers have no common steps. A step's time is the
// time between the ends of two consecutive steps of any workers.
#pragma once

#include "core/sim/simulator.h"

namespace trainyard::sim {

// Called by `simulate`, with the same contract. Uses the callback for op events and the seed of
// Options. Simulates at least kRounds rounds of each worker, if the run has that many.
base::Result<Outcome> simulate_served(const plan::Plan& plan, const topology::Network& network,
                                      const Options& options);

inline constexpr std::int64_t kRounds = 8;

}  // namespace trainyard::sim
