// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compute/compute.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// The compute that stands behind a drawn device on this machine. A gpu or tpu runs emulated on the CPU: whether that is
// allowed was judged before (run.emulate).
base::Result<std::unique_ptr<compute::Compute>> make_compute(const topology::Device& device);

}  // namespace trainyard::app
