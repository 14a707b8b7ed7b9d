// SPDX-License-Identifier: GPL-3.0-or-later
// One GPU: CUDA, cuBLASLt and CUB.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::cuda::module {

// The Compute of GPU `number`, as CUDA counts. Tensors lie in memory that it allocated, or was told
// to reach. Its queues are streams; products go on one of them at a time, since they share room to
// work in. Problems: as of gpus(), no such GPU, no memory left on it.
base::Result<std::unique_ptr<compute::Compute>> make_compute(int number);

}  // namespace trainyard::cuda::module
