// SPDX-License-Identifier: GPL-3.0-or-later
// What each layer takes on this machine, measured once before a run that shares layers out by it
// (strategy.stages.partition=measured).
#pragma once

#include <functional>

#include "core/compute/compute.h"
#include "core/experiment/resolve.h"

namespace trainyard::session {

// Seconds of every segment for a sample: forward and backward, and of the last one the loss. The
// whole model trains on the first micro-batch here, without updates, as the fastest drawn device
// would: the median of a few rounds after a first one that is not counted. Takes the memory of that
// for as long; opens the data. `make_compute` as of ranks (session/rank.h).
base::Result<std::vector<experiment::SegmentTime>> measure_segments(
    const experiment::Resolved& experiment,
    const std::function<base::Result<std::unique_ptr<compute::Compute>>(
        const topology::Device& device)>& make_compute);

}  // namespace trainyard::session
