// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compute/compute.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// Creates the compute of a drawn device: the GPU of this machine that the device names, or else the
// CPU. A drawn gpu or tpu that uses the CPU is emulated, which run.emulate must allow. Problems:
// those of gpu_problems.
base::Result<std::unique_ptr<compute::Compute>> make_compute(const topology::Device& device);

// Returns a problem for each drawn device that names a GPU that this machine lacks. Queries the
// GPUs only if a device names one.
base::Problems gpu_problems(const topology::Topology& topology);

}  // namespace trainyard::app
