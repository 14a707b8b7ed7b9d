// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compute/compute.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// The compute that stands behind a drawn device on this machine: the GPU that it is said to be,
// else the CPU. There a gpu or tpu runs emulated: whether that is allowed was judged before
// (run.emulate). Problems: as of gpu_problems.
base::Result<std::unique_ptr<compute::Compute>> make_compute(const topology::Device& device);

// Of drawn devices that are said to be GPUs of this machine, where it lacks them. It is asked for
// its GPUs only if there are such.
base::Problems gpu_problems(const topology::Topology& topology);

}  // namespace trainyard::app
