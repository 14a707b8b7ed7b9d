// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "backends/cuda/module/device.h"

namespace trainyard::cuda::module {

// Implements Device::order by CUB's radix sort, which is stable.
base::Result<Run> order(Device& device, const std::int32_t* keys, std::int32_t* places,
                        std::int64_t count, std::int32_t below);

}  // namespace trainyard::cuda::module
