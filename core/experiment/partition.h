// SPDX-License-Identifier: GPL-3.0-or-later
// Layers cut into stages, and dealt out to who has them (stages.h).
#pragma once

#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/crossing.h"

namespace trainyard::experiment {

// The first place that gets layers: whoever calls takes none.
int first_place(const StrategySpec& strategy);

// The segment that a place names; -1: there is none.
int segment_named(const model::Model& model, const std::string& name);

// By segment, who has it. What no place names is where the one before it is.
std::vector<int> owners_by(const std::vector<StagePlace>& places, const model::Model& model);

// Whether everybody has as many stages, in turn.
bool in_turn(const std::vector<model::Stage>& stages, std::int64_t ranks);

// Of cost, measured or memory, as stages.h says of places_of.
std::vector<StagePlace> balanced(const Resolved& e, Partition by);

}  // namespace trainyard::experiment
