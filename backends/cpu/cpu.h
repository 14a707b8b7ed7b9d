// SPDX-License-Identifier: GPL-3.0-or-later
// Compute on this machine's CPU (x86-64). Matrix multiplications use oneDNN for fp32 and OpenBLAS
// for fp64. All other ops use our own vectorized loops, in versions for several instruction sets;
// the version is selected at run time.
//
// Threads: an enqueued op runs in the calling thread. If `cores` is above 1, it also runs in up to
// cores - 1 threads of OpenMP or OpenBLAS. Several threads may use different queues at the same
// time.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/compute/compute.h"

namespace trainyard::cpu {

// Creates the CPU backend. `cores` (at least 1) is the maximum number of threads per op. OpenBLAS
// has only one limit per process: the smallest `cores` of all calls in the process.
base::Result<std::unique_ptr<compute::Compute>> make(int cores = 1);

}  // namespace trainyard::cpu
