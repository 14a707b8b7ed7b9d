// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of a model's layers and parameters to devices.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// Returns a sentence about the assignment, for example "Every device holds all layers, with the
// same parameters on all devices." Accepts any experiment that has workers.
QString assignment_text(const experiment::Experiment& experiment);

// Returns, for each segment, the ranks that keep its parameters: servers, a central storage, rank 0
// of data_parallel, or the ranks of a stage or of a sharded layer. An entry is empty if only the
// ranks that compute with the segment's parameters keep them.
std::vector<std::vector<int>> parameter_ranks(const experiment::Resolved& experiment);

// Shard of a layer: elements [first, first + count) of the dimension by which the layer is split.
struct LayerShard {
  std::int64_t first = 0, count = 0;
  std::vector<int> ranks;  // ranks that hold the shard, one per replica
  bool operator==(const LayerShard&) const = default;
};
struct LayerSplit {
  model::Split by = model::Split::none;
  // True if the outputs are query, key and value. Each of the three is then split in the same way.
  bool is_qkv = false;
  std::int64_t of = 0;  // size of the split dimension; if is_qkv, size of a third of it
  std::vector<LayerShard> parts;
  bool operator==(const LayerSplit&) const = default;
};
// Returns, for each segment, how its layer is split over devices. The split is `none` if the layer
// is not split.
std::vector<LayerSplit> layer_splits(const experiment::Resolved& experiment);

}  // namespace trainyard::ui
