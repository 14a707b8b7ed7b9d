// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a GPU, and of the host.
#pragma once

#include <span>
#include <string>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda::module {

// Of the GPU alone. A Problem says how much of it is free.
base::Result<Memory> allocate_on_gpu(int gpu, std::int64_t bytes);
base::Result<Memory> allocate_zeros_on_gpu(int gpu, std::int64_t bytes);
// Of the host, page-locked: GPUs reach it.
base::Result<Memory> allocate_on_host(std::int64_t bytes);
// Of the GPU alone, zero, for processes whose GPUs are named; and what it is named by: `borrow` of
// another process, on its GPU `gpu`, gives what that names. A Problem where one of those GPUs does
// not reach this one's memory. It is gone with what was allocated: whoever borrows it is to be done
// with it by then.
base::Result<compute::Lendable> allocate_to_lend(int gpu, std::int64_t bytes,
                                                 std::span<const int> to);
base::Result<Memory> borrow(int gpu, const std::string& name);

// Whether the GPU reaches that place of this process.
bool reaches(int gpu, const std::byte* place);
// Locks pages of this process, so that GPUs reach them where they are, until what is returned is
// gone, of several who lock the same the last. What that GPU reaches anyway stays as it is.
base::Result<std::shared_ptr<void>> lock(int gpu, std::span<std::byte> memory);

}  // namespace trainyard::cuda::module
