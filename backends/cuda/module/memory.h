// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a GPU, of the host, and of both.
#pragma once

#include <span>
#include <string>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda::module {

// Of the GPU alone. A Problem says how much of it is free.
base::Result<Memory> allocate_on_gpu(int gpu, std::int64_t bytes);
// Of the host, page-locked: GPUs reach it.
base::Result<Memory> allocate_on_host(std::int64_t bytes);
// Zero, at one address for the GPU and for this process: it lies on the GPU, and what this process touches comes to the host until the GPU wants it again
// (unified memory). Never more than is free on the GPU. Where GPU and driver cannot do that, it is page-locked memory of the host.
base::Result<Memory> allocate_for_both(int gpu, std::int64_t bytes);

// Whether the GPU reaches that place of this process.
bool reaches(int gpu, const std::byte* place);
// Locks pages of this process, so that GPUs reach them where they are, until what is returned is gone.
base::Result<std::shared_ptr<void>> lock(std::span<std::byte> memory);

}  // namespace trainyard::cuda::module
