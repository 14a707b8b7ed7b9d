// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/gpus.h"

#include <array>

#include "backends/cuda/module/error.h"
#include "backends/cuda/module/nvml.h"

namespace trainyard::cuda::module {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;

// Formats a CUDA version: 13000 is 13.0.
std::string format_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Explains a missing or outdated driver. The driver reports the CUDA version that it supports;
// without a driver, the runtime reports 0.
Problem no_driver() {
  int driver = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  if (driver == 0)
    return {"no_driver", ProblemCode::unavailable,
            "cuda",      "this machine has no NVIDIA driver",
            "",          "Install the driver of its GPU (nvidia-smi shows it)."};
  return {"driver_too_old",
          ProblemCode::unavailable,
          "cuda",
          "the NVIDIA driver is for CUDA " + format_version(driver),
          "CUDA " + format_version(CUDART_VERSION) + " or newer",
          "Install a newer driver."};
}

Problem unusable(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary) return no_driver();
  if (error == cudaErrorNoDevice)
    return {"no_gpu", ProblemCode::unavailable,
            "cuda",   "there is no GPU that this process can use",
            "",       "Check nvidia-smi and CUDA_VISIBLE_DEVICES."};
  return problem_of(error, "count the GPUs");
}

// Returns a device attribute, or 0 if the driver does not report it.
double attribute(cudaDeviceAttr which, int number) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, number) == cudaSuccess ? value : 0;
}

// fp32 operations per multiprocessor and cycle; a fused multiply-add counts as two (CUDA C++
// Programming Guide, "Arithmetic instructions").
constexpr double flops_per_cycle(int capability) { return 2.0 * (capability == 80 ? 64 : 128); }

// Computes peak flop/s and memory bandwidth. Clock rates are in kHz; memory transfers at both clock
// edges.
void fill_speeds(Gpu& gpu) {
  gpu.peak_flops = attribute(cudaDevAttrMultiProcessorCount, gpu.number) *
                   flops_per_cycle(gpu.capability) * 1e3 *
                   attribute(cudaDevAttrClockRate, gpu.number);
  gpu.memory_bandwidth_bytes_per_second =
      2 * 1e3 * attribute(cudaDevAttrMemoryClockRate, gpu.number) *
      attribute(cudaDevAttrGlobalMemoryBusWidth, gpu.number) / 8;
}

Result<Gpu> look_at(int number) {
  cudaDeviceProp found{};
  std::array<char, 32> bus{};
  if (const auto ok = check(cudaGetDeviceProperties(&found, number),
                            "get the properties of GPU " + std::to_string(number));
      !ok)
    return base::fail(ok.error());
  if (const auto ok = check(cudaDeviceGetPCIBusId(bus.data(), bus.size(), number),
                            "get the bus address of GPU " + std::to_string(number));
      !ok)
    return base::fail(ok.error());
  Gpu gpu{number,
          found.name,
          bus.data(),
          static_cast<std::int64_t>(found.totalGlobalMem),
          10 * found.major + found.minor,
          0,
          0,
          links_of(bus.data())};
  fill_speeds(gpu);
  return gpu;
}

}  // namespace

Result<std::vector<Gpu>> gpus() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    return base::fail(unusable(error));
  std::vector<Gpu> all;
  for (int number = 0; number < count; ++number) {
    auto gpu = look_at(number);
    if (!gpu) return base::fail(gpu.error());
    all.push_back(std::move(*gpu));
  }
  return all;
}

}  // namespace trainyard::cuda::module
