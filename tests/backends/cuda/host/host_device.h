// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of the GPU on this process: what is theirs alone is plain memory, products and sorting are plain loops. It shows that what the kernels say is
// right, and nothing of what nvcc and CUDA make of it.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::cuda {

// Each team has so many threads (1 to 32); one is the caller's own.
std::unique_ptr<compute::Compute> on_host(int team = 1);

}  // namespace trainyard::cuda
