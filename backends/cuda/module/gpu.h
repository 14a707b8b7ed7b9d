// SPDX-License-Identifier: GPL-3.0-or-later
// Compute on one GPU with CUDA, cuBLASLt and CUB.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::cuda::module {

// Creates the Compute of GPU `number` (CUDA device ordinal). Tensors are in memory that it
// allocated or that was registered with it. Its queues are streams. Products share one workspace
// and must therefore run on one queue at a time. Problems: those of gpus(), no such GPU, or not
// enough memory on it.
base::Result<std::unique_ptr<compute::Compute>> make_compute(int number);

}  // namespace trainyard::cuda::module
