// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of a model's layers and parameters to devices.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// Returns a sentence such as "Every device has all layers, with the same parameters as all others."
// Accepts any experiment with workers.
QString assignment_text(const experiment::Experiment& experiment);

// Returns, by segment, the ranks that keep its parameters: servers, a central storage, rank 0 of
// data_parallel, or the ranks of a stage or of a sharded layer. Empty for a segment whose
// parameters are kept just by the ranks that compute with them.
std::vector<std::vector<int>> parameter_ranks(const experiment::Resolved& experiment);

// Shard of a layer: elements [first, first + count) of the dimension by which the layer is split.
struct LayerShard {
  std::int64_t first = 0, count = 0;
  std::vector<int> ranks;  // ranks that hold the shard, one per replica
  bool operator==(const LayerShard&) const = default;
};
struct LayerSplit {
  model::Split by = model::Split::none;
  bool is_qkv = false;  // the outputs are query, key and value; each third is split alike
  std::int64_t of = 0;  // size of the dimension; if is_qkv, size of a third
  std::vector<LayerShard> parts;
  bool operator==(const LayerSplit&) const = default;
};
// Returns the splits of layers that devices share, by segment.
std::vector<LayerSplit> layer_splits(const experiment::Resolved& experiment);

}  // namespace trainyard::ui
