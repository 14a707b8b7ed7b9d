// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of a GPU and of the host.
#pragma once

#include <span>
#include <string>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda::module {

// Allocate memory on a GPU. If there is not enough, the Problem states how much is free.
base::Result<Memory> allocate_on_gpu(int gpu, std::int64_t bytes);
base::Result<Memory> allocate_zeros_on_gpu(int gpu, std::int64_t bytes);
// Allocates page-locked host memory, which GPUs can access.
base::Result<Memory> allocate_on_host(std::int64_t bytes);
// Export of memory with CUDA IPC. allocate_exported allocates zero-initialized memory on GPU `gpu`
// for processes on the GPUs `to`, and returns it with a name. import_memory(), called in another
// process with that name, maps the memory for its GPU `gpu`. Returns a Problem if one of these GPUs
// cannot access the memory. The mapping becomes invalid when the allocation is freed, so importers
// must finish before that.
base::Result<compute::ExportedMemory> allocate_exported(int gpu, std::int64_t bytes,
                                                        std::span<const int> to);
base::Result<Memory> import_memory(int gpu, const std::string& name);

// True if the GPU can access this address of the process.
bool reaches(int gpu, const std::byte* place);
// Locks pages of this process, so that GPUs can access them in place. The pages stay locked until
// the last handle for the same address is destroyed. Does nothing if the GPU can access the memory
// anyway.
base::Result<std::shared_ptr<void>> lock(int gpu, std::span<std::byte> memory);

}  // namespace trainyard::cuda::module
