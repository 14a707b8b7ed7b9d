// SPDX-License-Identifier: GPL-3.0-or-later
// NVIDIA GPUs. Code that needs CUDA's libraries is in a separate module, trainyard-cuda.so, which
// is opened when a GPU is requested. So a rank on a CPU saves the 0.1 s that loading these
// libraries takes, and programs start without a driver and without CUDA.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compute/compute.h"
#include "core/compute/streams.h"

namespace trainyard::cuda {

struct Gpu {
  int number = 0;  // CUDA device ordinal, within the devices visible to this process
  std::string name;
  std::string bus;  // PCI bus id, for example "0000:3b:00.0"
  std::int64_t memory_bytes = 0;
  int capability = 0;                            // compute capability; 90 means 9.0
  double peak_flops = 0;                         // flop/s in fp32; 0 if unknown
  double memory_bandwidth_bytes_per_second = 0;  // 0 if unknown
  std::string links;  // for example "PCIe 5.0 x16, 18 NVLinks"; empty if unknown
};

inline constexpr int kMinCapability =
    80;  // Minimum compute capability: the module has no code for GPUs older than Ampere (2020).

// Returns the reason why the module cannot compute on the GPU, or an empty string if it can.
inline std::string unusable(const Gpu& gpu) {
  if (gpu.capability >= kMinCapability) return "";
  return gpu.name + " has compute capability " + std::to_string(gpu.capability / 10) + "." +
         std::to_string(gpu.capability % 10) + ", but at least 8.0 is needed";
}

// Functions that the module exports.
struct Module {
  const char* version;  // version of Trainyard; modules of other versions are refused
  base::Result<std::vector<Gpu>> (*gpus)();
  // Creates the Compute of the GPU with the index `number`.
  base::Result<std::unique_ptr<compute::Compute>> (*make_compute)(int number);
  // Creates streams on the GPU with the index `number`, for a library such as NCCL. Compute does
  // not use these streams.
  base::Result<std::unique_ptr<compute::Streams>> (*make_streams)(int number);
};
inline constexpr const char* kModuleFile = "trainyard-cuda.so";
inline constexpr const char* kModuleSymbol = "trainyard_cuda";

// Opens the module. Each file is opened only once per process. Problems, all `unavailable`: the
// file does not exist (this build has no CUDA), a library that the module needs is missing, or the
// module is of another version of Trainyard.
base::Result<const Module*> open_module(const std::filesystem::path& file);

// Lists the GPUs of this machine. Opens the module in the directory of the program. Problems: those
// of open_module, no driver, a driver too old for the module, or no GPU.
base::Result<std::vector<Gpu>> gpus();

// Opens the module in the directory of the program. Problems: those of open_module.
base::Result<const Module*> module_beside_program();

}  // namespace trainyard::cuda
