// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are split among ranks with the same samples: in tensor_parallel, and within a stage
// of hybrid (core/model/split.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/experiment/compression.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

bool splits_layers(const Resolved& resolved);

// Collective of the ranks that split a layer, per sample. There are three kinds. Forward, an
// all-reduce sums the outputs of the second of two consecutive layers, or of a table. Backward, an
// all-reduce sums the input gradients of the first of the two layers. If logits are split, an
// all-gather of four numbers per rank combines each row.
struct LayerSum {
  int segment = 0;
  bool backward = false;
  Payload of_sample;
};
std::vector<LayerSum> layer_sums(const Resolved& experiment);

// Calls `visit(samples, train, evaluate)` for each size of micro-batch of a rank. `samples`: the
// size. `train` and `evaluate`: number of micro-batches of this size in training and in
// evaluations, over the full run.
void for_each_micro_batch(const Resolved& experiment, int rank,
                          const std::function<void(std::int64_t samples, std::int64_t train,
                                                   std::int64_t evaluate)>& visit);

// Returns a text such as "layer 0 is split by rows of its table, 9 layers from 1.1 to 3 are
// split by outputs, ...".
// Returns nothing if no layer is split.
std::optional<std::string> tensor_split_text(const Resolved& experiment);
// True if ranks that share layers are on several hosts.
bool is_on_several_hosts(const Resolved& experiment);

// Returns problems of splitting layers.
base::Problems tensor_problems(const Experiment& experiment, const model::Model& model);

}  // namespace trainyard::experiment
