// SPDX-License-Identifier: GPL-3.0-or-later
// Who has the layers of a model, and its parameters, where not each device has some.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// In a sentence: "Every device has all layers, with the same parameters as all others." Of any
// experiment with workers.
QString who_keeps(const experiment::Experiment& experiment);

// By segment, the ranks that keep its parameters, where not all do that compute by them: servers, a
// storage, rank 0 of data_parallel, those of a stage, and of a layer in parts. Else none.
std::vector<std::vector<int>> keepers_of(const experiment::Resolved& experiment);

// Which part of a layer who has: of what it is split by [first, first + count).
struct LayerPart {
  std::int64_t first = 0, count = 0;
  std::vector<int> ranks;  // of every replica one
  bool operator==(const LayerPart&) const = default;
};
struct LayerSplit {
  model::Split by = model::Split::none;
  bool in_thirds = false;  // outputs are query, key and value, of which each is split alike
  std::int64_t of = 0;     // of each of these
  std::vector<LayerPart> parts;
  bool operator==(const LayerSplit&) const = default;
};
// By segment, where devices share layers.
std::vector<LayerSplit> layer_splits(const experiment::Resolved& experiment);

}  // namespace trainyard::ui
