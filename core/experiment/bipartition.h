// SPDX-License-Identifier: GPL-3.0-or-later
// Bipartition of the graph for asynchronous gossip: one side asks, the other answers. Two neighbors
// must never be on the same side, or ranks could wait for each other in a cycle (plan/pairing.h).
// So the graph must be bipartite: without odd cycles (König 1916).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/mixing_matrix.h"

namespace trainyard::experiment {

struct Bipartition {
  // By rank: true if it asks; the others answer. The larger side asks; if equal, that of rank 0.
  std::vector<bool> asks;
  // Ranks of an odd cycle in order, which shows why the graph is not bipartite; empty if it is.
  std::vector<int> odd_cycle;
};

// Expects a connected graph.
Bipartition bipartition_of(const Graph& graph);

bool is_asynchronous_gossip(const StrategySpec& strategy);  // Asynchronous gossip.

// Returns additional requirements of asynchronous gossip on its connected graph.
base::Problems pair_problems(const Experiment& experiment, const Graph& graph);

}  // namespace trainyard::experiment
