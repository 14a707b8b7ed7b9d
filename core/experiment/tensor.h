// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are split among ranks which take the same samples: those of tensor_parallel, and of a
// stage of hybrid (core/model/split.h).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/experiment/compression.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

bool splits_layers(const Resolved& resolved);

// What the ranks that share layers sum or gather of one sample: outputs of a pair's second layer or
// of a table, forward, gradients at the inputs of a pair's first layer, back, and of a row of
// logits in parts four numbers of each rank.
struct LayerSum {
  int segment = 0;
  bool backward = false;
  Payload of_sample;
};
std::vector<LayerSum> layer_sums(const Resolved& experiment);

// Micro-batches of a rank in the whole run, by their size: `visit(samples, how many train, how many
// evaluate)`.
void for_each_micro_batch(const Resolved& experiment, int rank,
                          const std::function<void(std::int64_t samples, std::int64_t train,
                                                   std::int64_t evaluate)>& visit);

// Which layers are split how, for a person: "layer 0 by rows of its table, 9 layers by outputs (1.1
// to 3), ...". Nothing where none is.
std::optional<std::string> split_said(const Resolved& experiment);
// Whether those who share layers are.
bool is_on_several_hosts(const Resolved& experiment);

// What is wrong with splitting them, of any experiment.
base::Problems tensor_problems(const Experiment& experiment, const model::Model& model);

}  // namespace trainyard::experiment
