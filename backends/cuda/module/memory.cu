// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cstring>

#include "backends/cuda/module/error.h"
#include "backends/cuda/module/memory.h"
#include "core/base/units.h"

namespace trainyard::cuda::module {
namespace {

using base::ProblemCode;
using base::Result;

std::size_t one_or_more(std::int64_t bytes) { return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)); }

base::Problem no_room(int gpu, std::int64_t bytes) {
  std::size_t free = 0, all = 0;
  cudaMemGetInfo(&free, &all);
  return {ProblemCode::unavailable, "GPU " + std::to_string(gpu), "has no room for " + base::format_bytes(static_cast<double>(bytes)),
          base::format_bytes(static_cast<double>(free)) + " of " + base::format_bytes(static_cast<double>(all)) + " are free",
          "Use a smaller batch or model, or put less on this GPU."};
}

// What a failed allocation leaves behind is told here, and is no launch's.
base::Problem not_allocated(int gpu, std::int64_t bytes, cudaError_t error) {
  cudaGetLastError();
  return error == cudaErrorMemoryAllocation ? no_room(gpu, bytes) : problem_of(error, "allocate on GPU " + std::to_string(gpu));
}

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, gpu) == cudaSuccess ? value : 0;
}

cudaError_t keep_on_gpu(void* memory, std::size_t bytes, int gpu) {
#if CUDART_VERSION >= 13000
  return cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, cudaMemLocation{cudaMemLocationTypeDevice, gpu});
#else
  return cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, gpu);
#endif
}

bool has_room(std::int64_t bytes) {
  std::size_t free = 0, all = 0;
  return cudaMemGetInfo(&free, &all) == cudaSuccess && static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)) <= free;
}

}  // namespace

Result<Memory> allocate_on_gpu(int gpu, std::int64_t bytes) {
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, one_or_more(bytes)); error != cudaSuccess) return base::fail(not_allocated(gpu, bytes, error));
  return Memory(static_cast<std::byte*>(memory), [](std::byte* gone) { cudaFree(gone); });
}

Result<Memory> allocate_on_host(std::int64_t bytes) {
  void* memory = nullptr;
  const auto ok = check(cudaMallocHost(&memory, one_or_more(bytes)), "lock " + base::format_bytes(static_cast<double>(bytes)) + " of the host's memory");
  if (!ok) return base::fail(ok.error());
  return Memory(static_cast<std::byte*>(memory), [](std::byte* gone) { cudaFreeHost(gone); });
}

Result<Memory> allocate_for_both(int gpu, std::int64_t bytes) {
  if (attribute(cudaDevAttrConcurrentManagedAccess, gpu) == 0)
    return allocate_on_host(bytes).map([bytes](Memory memory) {
      std::memset(memory.get(), 0, one_or_more(bytes));
      return memory;
    });
  if (!has_room(bytes)) return base::fail(no_room(gpu, bytes));
  void* memory = nullptr;
  if (const cudaError_t error = cudaMallocManaged(&memory, one_or_more(bytes)); error != cudaSuccess) return base::fail(not_allocated(gpu, bytes, error));
  Memory owned(static_cast<std::byte*>(memory), [](std::byte* gone) { cudaFree(gone); });
  if (const auto ok = check(keep_on_gpu(memory, one_or_more(bytes), gpu), "keep memory on GPU " + std::to_string(gpu)); !ok) return base::fail(ok.error());
  if (const auto ok = check(cudaMemset(memory, 0, one_or_more(bytes)), "clear memory of GPU " + std::to_string(gpu)); !ok) return base::fail(ok.error());
  if (const auto ok = check(cudaDeviceSynchronize(), "clear memory of GPU " + std::to_string(gpu)); !ok) return base::fail(ok.error());
  return owned;
}

bool reaches(int gpu, const std::byte* place) {
  if (attribute(cudaDevAttrPageableMemoryAccess, gpu) != 0) return true;
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, place) == cudaSuccess) return found.type != cudaMemoryTypeUnregistered;
  cudaGetLastError();
  return false;
}

// What was locked before, as pages that two ranks of a process share, stays so.
Result<std::shared_ptr<void>> lock(std::span<std::byte> memory) {
  if (memory.empty()) return std::shared_ptr<void>();
  const cudaError_t error = cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (error != cudaSuccess) cudaGetLastError();
  if (error == cudaErrorHostMemoryAlreadyRegistered) return std::shared_ptr<void>();
  if (const auto ok = check(error, "lock " + base::format_bytes(static_cast<double>(memory.size())) + " that peers share"); !ok) return base::fail(ok.error());
  std::shared_ptr<void> locked(memory.data(), [](void* gone) { cudaHostUnregister(gone); });
  void* seen = nullptr;
  if (cudaHostGetDevicePointer(&seen, memory.data(), 0) == cudaSuccess && seen == memory.data()) return locked;
  return base::fail({ProblemCode::unavailable, "cuda", "GPUs see the host's memory at other addresses than this process", "", "Choose another GPU."});
}

}  // namespace trainyard::cuda::module
