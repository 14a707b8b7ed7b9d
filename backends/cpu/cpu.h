// SPDX-License-Identifier: GPL-3.0-or-later
// Compute on this machine's CPU (x86-64): fp32 products on oneDNN, fp64 products on OpenBLAS,
// everything else in vector code of its own, chosen for the CPU at run time.
//
// Threads: an enqueued op runs in the calling thread and, with `cores` above 1, in up to cores - 1
// more that OpenMP or OpenBLAS keep. Any number of threads may each use a queue of their own.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/compute/compute.h"

namespace trainyard::cpu {

// `cores` of 1 or more bounds the threads of each op. OpenBLAS counts threads for the process:
// there the smallest bound given in a process holds.
base::Result<std::unique_ptr<compute::Compute>> make(int cores = 1);

}  // namespace trainyard::cpu
