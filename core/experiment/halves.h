// SPDX-License-Identifier: GPL-3.0-or-later
// Of asynchronous gossip: who asks and who answers. Neighbours may never be alike, or ranks could
// wait for each other in a circle (plan/pairing.h), so the graph must fall into two halves, with no
// edge inside either: a graph without odd circles (König 1916).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/mixing.h"

namespace trainyard::experiment {

struct Halves {
  std::vector<bool>
      asks;  // by rank; the others answer. The larger half asks, of two as large that of rank 0
  std::vector<int> odd_circle;  // ranks, each a neighbour of the next and the last of the first:
                                // why there are no halves; empty: there are
};

// Of a connected graph.
Halves halves_of(const Graph& graph);

bool averages_in_pairs(const StrategySpec& strategy);  // asynchronous gossip

// What asynchronous gossip asks of the graph of its experiment, which is connected, besides what
// all gossip does.
base::Problems pair_problems(const Experiment& experiment, const Graph& graph);

}  // namespace trainyard::experiment
