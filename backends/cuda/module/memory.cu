// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <map>
#include <mutex>

#include "backends/cuda/module/error.h"
#include "backends/cuda/module/memory.h"
#include "core/base/units.h"

namespace trainyard::cuda::module {
namespace {

using base::ProblemCode;
using base::Result;

// Size to which exports are rounded up. CUDA IPC exports a full allocation; smaller allocations
// share a block with others.
constexpr std::int64_t kExportGranularity = std::int64_t{2} << 20;

std::size_t one_or_more(std::int64_t bytes) {
  return static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
}

base::Problem out_of_memory_problem(int gpu, std::int64_t bytes) {
  std::size_t free = 0, all = 0;
  cudaMemGetInfo(&free, &all);
  return {"out_of_memory",
          ProblemCode::unavailable,
          "GPU " + std::to_string(gpu),
          "cannot allocate " + base::format_bytes(static_cast<double>(bytes)),
          base::format_bytes(static_cast<double>(free)) + " of " +
              base::format_bytes(static_cast<double>(all)) + " are free",
          "Use a smaller batch or model, or run fewer ranks on this GPU."};
}

// Returns the problem of a failed allocation and clears the CUDA error, which the next launch would
// otherwise report.
base::Problem not_allocated(int gpu, std::int64_t bytes, cudaError_t error) {
  cudaGetLastError();
  return error == cudaErrorMemoryAllocation
             ? out_of_memory_problem(gpu, bytes)
             : problem_of(error, "allocate on GPU " + std::to_string(gpu));
}

// Clears memory on a private stream, and waits only for that stream, because other streams may be
// under capture.
Result<void> clear_on_private_stream(std::byte* memory, std::int64_t bytes,
                                     const std::string& what) {
  cudaStream_t stream = nullptr;
  if (const auto ok = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), what); !ok)
    return ok;
  const cudaError_t asked = cudaMemsetAsync(memory, 0, one_or_more(bytes), stream),
                    done = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return check(asked != cudaSuccess ? asked : done, what);
}

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, gpu) == cudaSuccess ? value : 0;
}

// Number of users of each range of locked pages, by its begin address. The object exists until the
// process exits, which is longer than any user.
struct PinnedPages {
  std::mutex mutex;
  std::map<std::byte*, int> users;

  static PinnedPages& of_process() {
    static auto* const all = new PinnedPages;
    return *all;
  }
};

// Locks the pages in memory. Returns false if they are locked already.
Result<bool> lock_pages(std::span<std::byte> memory) {
  const cudaError_t error = cudaHostRegister(memory.data(), memory.size(),
                                             cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (error != cudaSuccess) cudaGetLastError();
  if (error == cudaErrorHostMemoryAlreadyRegistered) return false;
  if (const auto ok =
          check(error, "lock " + base::format_bytes(static_cast<double>(memory.size())) +
                           " that peers share");
      !ok)
    return base::fail(ok.error());
  void* seen = nullptr;
  if (cudaHostGetDevicePointer(&seen, memory.data(), 0) == cudaSuccess && seen == memory.data())
    return true;
  cudaHostUnregister(memory.data());
  return base::fail({"memory_not_mapped", ProblemCode::unavailable, "cuda",
                     "GPUs see the host's memory at other addresses than this process", "",
                     "Choose another GPU."});
}

}  // namespace

Result<Memory> allocate_on_gpu(int gpu, std::int64_t bytes) {
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, one_or_more(bytes)); error != cudaSuccess)
    return base::fail(not_allocated(gpu, bytes, error));
  return Memory(static_cast<std::byte*>(memory), [](std::byte* gone) { cudaFree(gone); });
}

Result<Memory> allocate_on_host(std::int64_t bytes) {
  void* memory = nullptr;
  const auto ok =
      check(cudaMallocHost(&memory, one_or_more(bytes)),
            "lock " + base::format_bytes(static_cast<double>(bytes)) + " of the host's memory");
  if (!ok) {
    cudaGetLastError();  // the error is reported here, so the next launch must not report it again
    return base::fail(ok.error());
  }
  return Memory(static_cast<std::byte*>(memory), [](std::byte* gone) { cudaFreeHost(gone); });
}

Result<Memory> allocate_zeros_on_gpu(int gpu, std::int64_t bytes) {
  return allocate_on_gpu(gpu, bytes).and_then([&](Memory memory) {
    return clear_on_private_stream(memory.get(), bytes,
                                   "clear memory of GPU " + std::to_string(gpu))
        .map([&] { return memory; });
  });
}

Result<compute::ExportedMemory> allocate_exported(int gpu, std::int64_t bytes,
                                                  std::span<const int> to) {
  for (const int other : to) {
    int reaches = other == gpu ? 1 : 0;
    if (other != gpu && cudaDeviceCanAccessPeer(&reaches, other, gpu) != cudaSuccess)
      cudaGetLastError();
    if (reaches == 0)
      return base::fail({"gpu_memory_not_reachable", ProblemCode::unavailable,
                         "GPU " + std::to_string(other),
                         "cannot access the memory of GPU " + std::to_string(gpu), "", ""});
  }
  auto memory = allocate_zeros_on_gpu(
      gpu, (bytes + kExportGranularity - 1) / kExportGranularity * kExportGranularity);
  if (!memory) return base::fail(memory.error());
  cudaIpcMemHandle_t handle{};
  if (const cudaError_t error = cudaIpcGetMemHandle(&handle, memory->get()); error != cudaSuccess) {
    cudaGetLastError();
    return base::fail(problem_of(error, "export memory of GPU " + std::to_string(gpu)));
  }
  return compute::ExportedMemory{std::move(*memory),
                                 std::string(handle.reserved, sizeof handle.reserved)};
}

Result<Memory> import_memory(int gpu, const std::string& name) {
  cudaIpcMemHandle_t handle{};
  if (name.size() != sizeof handle.reserved)
    return base::fail({"bad_memory_name", ProblemCode::failed, "GPU " + std::to_string(gpu),
                       "the name of the exported memory cannot be read", "", ""});
  name.copy(handle.reserved, name.size());
  void* memory = nullptr;
  const auto ok = check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
                        "import memory for GPU " + std::to_string(gpu));
  if (!ok) return base::fail(ok.error());
  return Memory(static_cast<std::byte*>(memory),
                [](std::byte* gone) { cudaIpcCloseMemHandle(gone); });
}

bool reaches(int gpu, const std::byte* place) {
  if (attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables, gpu) != 0)
    return true;  // The GPU accesses all host memory through the page tables of the host.
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, place) == cudaSuccess)
    return found.type != cudaMemoryTypeUnregistered;
  cudaGetLastError();
  return false;
}

Result<std::shared_ptr<void>> lock(int gpu, std::span<std::byte> memory) {
  if (memory.empty()) return std::shared_ptr<void>();
  PinnedPages& all = PinnedPages::of_process();
  const std::scoped_lock one_at_a_time(all.mutex);
  if (!all.users.contains(memory.data())) {
    if (reaches(gpu, memory.data())) return std::shared_ptr<void>();
    const auto own = lock_pages(memory);
    if (!own) return base::fail(own.error());
    if (!*own) return std::shared_ptr<void>();
  }
  ++all.users[memory.data()];
  return std::shared_ptr<void>(memory.data(), [&all](void* gone) {
    const std::scoped_lock one_at_a_time(all.mutex);
    const auto at = all.users.find(static_cast<std::byte*>(gone));
    if (--at->second > 0) return;
    all.users.erase(at);
    cudaHostUnregister(gone);
  });
}

}  // namespace trainyard::cuda::module
