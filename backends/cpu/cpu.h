// SPDX-License-Identifier: GPL-3.0-or-later
// Compute on this machine's CPU (x86-64). fp32 products use oneDNN, fp64 products use OpenBLAS. All
// other ops use our own vectorized loops, selected at run time by instruction set.
//
// Threads: an enqueued op runs in the calling thread and, if `cores` is above 1, in up to cores - 1
// threads kept by OpenMP or OpenBLAS. Different threads may use different queues at the same time.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/compute/compute.h"

namespace trainyard::cpu {

// Creates the CPU backend. `cores` (at least 1) bounds the threads of each op. OpenBLAS counts
// threads per process: its bound is the smallest `cores` passed in the process.
base::Result<std::unique_ptr<compute::Compute>> make(int cores = 1);

}  // namespace trainyard::cpu
