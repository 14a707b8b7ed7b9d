// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the drawing can hold the ranks that the strategy wants.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

std::int64_t count_workers(const topology::Topology& topology);

// No worker at all, workers without a route between them, a strategy for another number of devices.
base::Problems placement_problems(const Experiment& experiment);

// Hosts and devices that this version cannot start ranks on: other machines, and accelerators that may not be emulated.
base::Problems start_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
