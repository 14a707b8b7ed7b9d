// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of a model's layers and parameters to devices.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// Returns a sentence: "Every device has all layers, with the same parameters as all others."
// Accepts any experiment with workers.
QString assignment_text(const experiment::Experiment& experiment);

// By segment: ranks that keep its parameters, if these are not just the ranks that compute with
// them. Examples: servers, a central storage, rank 0 of data_parallel, the ranks of a stage or of a
// sharded layer. Otherwise empty.
std::vector<std::vector<int>> parameter_ranks(const experiment::Resolved& experiment);

// Shard of a layer: [first, first + count) of the dimension that is split.
struct LayerShard {
  std::int64_t first = 0, count = 0;
  std::vector<int> ranks;  // one per replica
  bool operator==(const LayerShard&) const = default;
};
struct LayerSplit {
  model::Split by = model::Split::none;
  bool is_qkv = false;  // the outputs are query, key and value, each split equally
  std::int64_t of = 0;  // size of the dimension (of each third)
  std::vector<LayerShard> parts;
  bool operator==(const LayerSplit&) const = default;
};
// Returns the splits by segment, where devices share layers.
std::vector<LayerSplit> layer_splits(const experiment::Resolved& experiment);

}  // namespace trainyard::ui
