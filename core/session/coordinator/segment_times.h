// SPDX-License-Identifier: GPL-3.0-or-later
// Time of each layer on this machine, measured once before a run that partitions layers by measured
// time (strategy.stages.partition=measured).
#pragma once

#include <functional>

#include "core/compute/compute.h"
#include "core/experiment/resolve.h"

namespace trainyard::session {

// Returns the seconds per sample of every segment: forward, backward, and for the last segment the
// loss. Runs forward and backward passes of the full model on the first micro-batch on this
// machine, with the settings of the fastest drawn device. Each value is the median of a few rounds
// after a warm-up round. Temporarily needs the memory of the full model; opens the data set.
// `make_compute`: as for ranks (session/rank/rank.h).
base::Result<std::vector<experiment::SegmentTime>> measure_segments(
    const experiment::Resolved& experiment,
    const std::function<base::Result<std::unique_ptr<compute::Compute>>(
        const topology::Device& device)>& make_compute);

}  // namespace trainyard::session
