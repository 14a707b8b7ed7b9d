// SPDX-License-Identifier: GPL-3.0-or-later
// Simulates a plan with parameter servers, whose workers each make their own steps. A step's time
// is the time between the ends of two consecutive steps of any workers.
#pragma once

#include "core/sim/simulator.h"

namespace trainyard::sim {

// Implements `simulate` for plans with parameter servers. Uses only two of the options: the
// callback for op events, and the seed. Simulates at least kRounds rounds of each worker, or the
// full run if it has fewer.
base::Result<Outcome> simulate_served(const plan::Plan& plan, const topology::Network& network,
                                      const Options& options);

inline constexpr std::int64_t kRounds = 8;

}  // namespace trainyard::sim
