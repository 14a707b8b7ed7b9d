// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compute/compute.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// Creates the compute of a drawn device: the GPU of this machine that the device names, or else the
// CPU. A drawn gpu or tpu that uses the CPU is emulated, which run.emulate must allow. Problems:
// those of gpu_problems.
base::Result<std::unique_ptr<compute::Compute>> make_compute(const topology::Device& device);

// Returns problems for drawn devices that name GPUs that this machine lacks. Queries the GPUs only
// if there are such devices.
base::Problems gpu_problems(const topology::Topology& topology);

}  // namespace trainyard::app
