// SPDX-License-Identifier: GPL-3.0-or-later
// Time of each layer on this machine, measured once before a run that partitions layers by measured
// time (strategy.stages.partition=measured).
#pragma once

#include <functional>

#include "core/compute/compute.h"
#include "core/experiment/resolve.h"

namespace trainyard::session {

// Returns the seconds per sample of every segment: forward and backward, and for the last one the
// loss. Trains the full model on the first micro-batch on this machine, without updates, as the
// fastest drawn device would. Each value is the median of a few rounds after a warm-up round. Needs
// the memory of the full model meanwhile; opens the data set. `make_compute` as for ranks
// (session/rank/rank.h).
base::Result<std::vector<experiment::SegmentTime>> measure_segments(
    const experiment::Resolved& experiment,
    const std::function<base::Result<std::unique_ptr<compute::Compute>>(
        const topology::Device& device)>& make_compute);

}  // namespace trainyard::session
