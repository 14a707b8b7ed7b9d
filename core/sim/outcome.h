// SPDX-License-Identifier: GPL-3.0-or-later
// From a finished simulation to the figures of an Outcome.
#pragma once

#include "core/sim/simulation.h"

namespace trainyard::sim {

// Everything but what another simulation must tell: tail and evaluation that this one did not
// reach, and the predictions.
Outcome measure(const Simulation& simulation, const plan::Schedule& schedule,
                const topology::Network& network, LanesPerThread lanes_per_thread);

// The least time that a step of `program` can take on each kind of bound, the longest first. Of the
// outcome: its edges.
std::vector<Bound> bounds(const Simulation& simulation, const Outcome& outcome,
                          std::string_view program, const topology::Network& network,
                          LanesPerThread lanes_per_thread);

// Of the edges that were used the one that needs longest for a step.
Bound edge_bound(const Outcome& outcome, const topology::Network& network);

std::string explain(const Outcome& outcome, const topology::Network& network);

// "the link a - b", "the bus of h at d0"
std::string edge_name(const topology::Network& network, topology::EdgeId edge);

}  // namespace trainyard::sim
