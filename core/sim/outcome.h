// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the values of an Outcome from a finished simulation.
#pragma once

#include "core/sim/simulation.h"

namespace trainyard::sim {

// Computes the values of the outcome, except predictions. If this simulation did not reach the
// shorter steps at the end of an epoch, or an evaluation, their times are missing.
Outcome measure(const Simulation& simulation, const plan::Schedule& schedule,
                const topology::Network& network, LanesPerThread lanes_per_thread);

// Returns lower bounds of the step time of `program`: for each kind of bound the longest one, in
// descending order. Uses the edges of `outcome`.
std::vector<Bound> bounds(const Simulation& simulation, const Outcome& outcome,
                          std::string_view program, const topology::Network& network,
                          LanesPerThread lanes_per_thread);

// Returns the bound of the edge that needs the longest time to transfer its bytes of a step.
Bound edge_bound(const Outcome& outcome, const topology::Network& network);

// Returns the idle fraction of all ranks' time, in [0, 1]. A rank that finishes early counts as
// idle until the last one finishes.
double bubble_fraction(const std::vector<RankUse>& ranks);

std::string explain(const Outcome& outcome, const topology::Network& network);

// name of an edge: "the link a - b", "the bus of h at d0"
std::string edge_name(const topology::Network& network, topology::EdgeId edge);

}  // namespace trainyard::sim
