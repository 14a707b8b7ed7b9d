// SPDX-License-Identifier: GPL-3.0-or-later
// Splits the neighbor graph of asynchronous gossip into two sides. Ranks of one side request an
// average; ranks of the other side answer. Neighbors must be on different sides, or ranks could
// wait for each other in a cycle (plan/gossip_pair.h). So the graph must be bipartite, that is,
// have no odd cycle (König 1916).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/mixing_matrix.h"

namespace trainyard::experiment {

struct Bipartition {
  // For each rank: true if it requests averages, false if it answers requests. The larger side
  // requests; if both sides are equally large, the side of rank 0 requests.
  std::vector<bool> asks;
  // Ranks of one odd cycle, in order, as evidence that the graph is not bipartite. Empty if it is
  // bipartite.
  std::vector<int> odd_cycle;
};

// Returns the two sides of a connected graph.
Bipartition bipartition_of(const Graph& graph);

// True for gossip with mode asynchronous.
bool is_asynchronous_gossip(const StrategySpec& strategy);

// Returns a problem if asynchronous gossip cannot use the experiment's connected neighbor graph.
// Returns none for other experiments.
base::Problems pair_problems(const Experiment& experiment, const Graph& graph);

}  // namespace trainyard::experiment
