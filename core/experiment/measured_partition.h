// SPDX-License-Identifier: GPL-3.0-or-later
// Partition by measured times of layers (strategy.stages.partition=measured). The program that
// starts the run measures the times once (session/coordinator/segment_times.h). The resolved
// experiment then contains the measured times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// True if times are not measured yet; until then layers are partitioned by cost.
bool needs_measured_times(const StrategySpec& strategy);

// Returns a message that times are not measured yet, and that memory and bytes are therefore shown
// for a partition by cost. Returns nothing if no times are to be measured.
std::optional<std::string> times_pending_line(const StrategySpec& strategy);

// Sets the measured times of all segments, in model order, and assigns stages to ranks by these
// times.
void set_measured_times(Resolved& resolved, std::vector<SegmentTime> times);

// Returns a text such as "; as measured, 1.2 ms, 800 us for a sample", with one time per rank. If
// times are not measured yet, the text says so. Empty for other partitions.
std::string segment_times_text(const Resolved& resolved);

// Validates the layer times that the document contains.
base::Problems time_problems(const StageSpec& stages, const model::Model& model);

}  // namespace trainyard::experiment
