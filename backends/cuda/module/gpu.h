// SPDX-License-Identifier: GPL-3.0-or-later
// One GPU: CUDA, cuBLASLt and CUB.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::cuda::module {

// The Compute of GPU `number`, as CUDA counts. Tensors lie where it reaches them: in its memory, or in the host's that was allocated for it. Its queues are
// streams; products go on one of them at a time, since they share room to work in. Problems: as of gpus(), no such GPU, no memory left on it.
base::Result<std::unique_ptr<compute::Compute>> make_compute(int number);

// Memory of the host that GPUs reach, page-locked.
base::Result<std::shared_ptr<std::byte>> allocate_on_host(std::int64_t bytes);

}  // namespace trainyard::cuda::module
