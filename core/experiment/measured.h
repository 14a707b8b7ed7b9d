// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are shared out by what they take on this machine
// (strategy.stages.partition=measured): measured once, by whoever starts the run
// (session/segment_times.h), and then in the resolved experiment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Whether they are yet to be measured; until then they are where cost has them.
bool awaits_times(const StrategySpec& strategy);

// That they are, for a person: whoever tells of memory and bytes before tells of layers by cost.
// Nothing where nothing is to be measured.
std::optional<std::string> times_awaited_said(const StrategySpec& strategy);

// Those of every segment, in order, and the places that follow from them.
void take_times(Resolved& resolved, std::vector<SegmentTime> times);

// "; as measured, 1.2 ms, 800 us for a sample", rank by rank, or that they are not yet; empty of
// another partition.
std::string times_said(const Resolved& resolved);

// What is wrong with those that are given.
base::Problems time_problems(const StageSpec& stages, const model::Model& model);

}  // namespace trainyard::experiment
