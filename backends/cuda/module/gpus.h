// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/cuda.h"

namespace trainyard::cuda::module {

// Asks the driver, and makes no context: a GPU that is only looked at keeps its memory.
base::Result<std::vector<Gpu>> gpus();

}  // namespace trainyard::cuda::module
