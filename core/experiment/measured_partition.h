// SPDX-License-Identifier: GPL-3.0-or-later
// Partition by measured times of layers (strategy.stages.partition=measured). The program that
// starts the run measures them once (session/coordinator/segment_times.h); the resolved experiment
// then contains them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// True if times are not measured yet; until then layers are partitioned by cost.
bool needs_measured_times(const StrategySpec& strategy);

// Returns a message that times are not measured yet, so memory and bytes shown before the run are
// those of a partition by cost. Nothing if nothing is to be measured.
std::optional<std::string> times_pending_line(const StrategySpec& strategy);

// Sets the measured times of all segments, in order, and the places that follow from them.
void set_measured_times(Resolved& resolved, std::vector<SegmentTime> times);

// "; as measured, 1.2 ms, 800 us for a sample", rank by rank, or that they are not measured yet;
// empty for other partitions.
std::string segment_times_text(const Resolved& resolved);

// Returns problems of times that are given in the document.
base::Problems time_problems(const StageSpec& stages, const model::Model& model);

}  // namespace trainyard::experiment
