// SPDX-License-Identifier: GPL-3.0-or-later
// Tied output layer in another stage than the embedding table. Both stages hold the table, and each
// computes the gradient of its own layer. Once a step the gradients are summed over both stages and
// all replicas, so the two copies stay identical (as word embeddings in Megatron-LM; Narayanan et
// al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters").
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// True if table and tied layer may be in different stages. False for pipedream (it would update
// before the sum), shards_data (each stage would shard its table differently), and rpc (a called
// stage would learn from other trainers' samples).
bool may_span_stages(const StrategySpec& strategy);

// Stage numbers.
struct Tie {
  int table = 0, tied = 0;
};

// Returns the stages of the table and of the tied layer, computed from the document alone: from its
// stage places, or from the balanced partition. Returns nothing if both are on one stage, or if no
// layer is tied.
std::optional<Tie> split_tie(const Experiment& experiment);

// Returns for each part of the table the ranks that hold it and sum its gradient. Empty if one
// stage has both.
std::vector<std::vector<int>> tie_groups(const Experiment& experiment);

}  // namespace trainyard::experiment
