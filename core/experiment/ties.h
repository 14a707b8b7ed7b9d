// SPDX-License-Identifier: GPL-3.0-or-later
// A last layer that is tied to the table of the embedding, in another stage than that: both stages
// have the table, each learns of it what its own layer says, and once a step that is summed over
// both and over all replicas, so that the two stay one (as Megatron-LM has its word embeddings;
// Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters").
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Whether the two may be in different stages: else an update would come before their sum
// (pipedream), each would share its table out otherwise (shards_data), or what is called would
// learn by others' samples (rpc).
bool may_be_apart(const StrategySpec& strategy);

// Stages.
struct Tie {
  int table = 0, tied = 0;
};

// As far as a document says: by its places, or else as they are balanced. Nothing where one stage
// has both, or nothing is tied.
std::optional<Tie> tie_apart(const Experiment& experiment);

// The ranks that sum it: of each part of the table all that have it. None where nothing is apart.
std::vector<std::vector<int>> tie_groups(const Experiment& experiment);

}  // namespace trainyard::experiment
