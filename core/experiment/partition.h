// SPDX-License-Identifier: GPL-3.0-or-later
// Partition of layers into stages, and their assignment to ranks (stages.h).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/stage_transfer.h"

namespace trainyard::experiment {

// First place that gets layers; for rpc the trainers are skipped.
int first_place(const StrategySpec& strategy);

// Returns the segment that a place names; -1 if there is none.
int segment_named(const model::Model& model, const std::string& name);

// Returns the place of each segment. A segment that no place names is where the segment before it
// is.
std::vector<int> owners_by(const std::vector<StagePlace>& places, const model::Model& model);

// True if all ranks have equally many stages, in turn.
bool is_round_robin(const std::vector<model::Stage>& stages, std::int64_t ranks);

// Partitions by cost, measured time or memory; see `places_of` in stages.h.
std::vector<StagePlace> balanced(const Resolved& e, Partition by);

}  // namespace trainyard::experiment
