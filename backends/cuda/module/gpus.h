// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/cuda.h"

namespace trainyard::cuda::module {

// Lists the GPUs through the driver. Creates no CUDA context, so it uses no GPU memory.
base::Result<std::vector<Gpu>> gpus();

}  // namespace trainyard::cuda::module
