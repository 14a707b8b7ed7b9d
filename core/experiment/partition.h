// SPDX-License-Identifier: GPL-3.0-or-later
// Partition of layers into stages, and their assignment to ranks (stages.h).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/stage_transfer.h"

namespace trainyard::experiment {

// Returns the first pipeline position to which layers are assigned by the partition: 1 for rpc,
// where position 0 is the trainers; otherwise 0.
int first_place(const StrategySpec& strategy);

// Returns the index of the segment with this name (as made by `place_name`); -1 if there is none.
int segment_named(const model::Model& model, const std::string& name);

// Returns the pipeline position of each segment. `places` names the first segment of each stage;
// the segments after it belong to the same stage.
std::vector<int> owners_by(const std::vector<StagePlace>& places, const model::Model& model);

// True if stages are assigned to ranks in turn, the same number to each rank.
bool is_round_robin(const std::vector<model::Stage>& stages, std::int64_t ranks);

// Partitions by cost, measured time or memory; see `places_of` in stages.h.
std::vector<StagePlace> balanced(const Resolved& e, Partition by);

}  // namespace trainyard::experiment
