// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of the GPU on this process: what is theirs alone is plain memory, products and
// sorting are plain loops. It shows that what the kernels say is right, and nothing of what nvcc
// and CUDA make of it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "core/compute/compute.h"

namespace trainyard::cuda {

struct OnHost {
  std::string cudnn = {};   // library that replaces cuDNN; empty: convolutions use im2col columns
  int team = 1;             // threads of each (1 to 64); one is the caller's own
  bool own_memory = false;  // reaches only what such devices allocated, and were told to access:
                            // anything else is refused, or ends the process
  bool exports = true;      // memory that peers read (exported_memory.h)
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();
  std::optional<compute::DeviceUse> use = {};  // what it says of itself
  // number of marks after which nothing runs any more
  std::int64_t breaks_after = std::numeric_limits<std::int64_t>::max();
};
std::unique_ptr<compute::Compute> on_host(const OnHost& how = {});

}  // namespace trainyard::cuda
