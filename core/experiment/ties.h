// SPDX-License-Identifier: GPL-3.0-or-later
// A tied output layer that is in another stage than the embedding table whose weights it uses. Both
// stages hold a copy of the table, and each computes the gradient of its own layer. Once a step the
// gradients are summed over both stages and all replicas, so the copies stay identical. Megatron-LM
// does the same for word embeddings (Narayanan et al. 2021, "Efficient Large-Scale Language Model
// Training on GPU Clusters").
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// True if table and tied layer may be in different stages. False for pipedream (a stage would
// update before the sum), for shards_data (the stages would shard the table differently), and for
// rpc (a called stage would also use gradients of other trainers' samples).
bool may_span_stages(const StrategySpec& strategy);

// Indices of the two stages that hold the table of a tied layer: stage `table` has the embedding,
// stage `tied` has the output layer that uses its weights.
struct Tie {
  int table = 0, tied = 0;
};

// Returns the two stages that hold the table, or nothing if both layers are in one stage or no
// layer is tied. Uses only the document: its stage places, or the balanced partition.
std::optional<Tie> split_tie(const Experiment& experiment);

// Returns the groups of ranks that sum the gradient of the table, one group per tensor part of the
// table. Empty if table and tied layer are in one stage.
std::vector<std::vector<int>> tie_groups(const Experiment& experiment);

}  // namespace trainyard::experiment
