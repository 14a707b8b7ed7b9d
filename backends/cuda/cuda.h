// SPDX-License-Identifier: GPL-3.0-or-later
// NVIDIA GPUs. What needs CUDA's libraries lies in a module of its own, trainyard-cuda.so, which is
// opened when somebody asks for a GPU: a rank on a CPU does not spend the tenth of a second that
// they take to load, and programs start where there is no driver, or where they are not installed
// at all.
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
  int number = 0;  // as CUDA counts those that it lets this process see
  std::string name;
  std::string bus;  // "0000:3b:00.0"
  std::int64_t memory_bytes = 0;
  int capability = 0;                            // compute capability: 90 stands for 9.0
  double peak_flops = 0;                         // flop/s, fp32; 0: not known
  double memory_bandwidth_bytes_per_second = 0;  // likewise
  std::string links;                             // "PCIe 5.0 x16, 18 NVLinks"; empty: not known
};

inline constexpr int kLeastCapability =
    80;  // the module has no code for GPUs before that (Ampere, 2020)

// Why the module cannot compute on the GPU; empty: it can.
inline std::string unusable(const Gpu& gpu) {
  if (gpu.capability >= kLeastCapability) return "";
  return gpu.name + " has compute capability " + std::to_string(gpu.capability / 10) + "." +
         std::to_string(gpu.capability % 10) + ", and 8.0 is the least";
}

// What the module offers.
struct Module {
  const char* version;  // of Trainyard: one of another is not opened
  base::Result<std::vector<Gpu>> (*gpus)();
  // What GPU `number` can do.
  base::Result<std::unique_ptr<compute::Compute>> (*make_compute)(int number);
  // Others than it computes on: for a library that works on the same GPU.
  base::Result<std::unique_ptr<compute::Streams>> (*make_streams)(int number);
};
inline constexpr const char* kModuleFile = "trainyard-cuda.so";
inline constexpr const char* kModuleSymbol = "trainyard_cuda";

// Opened once a process and file. Problems, all `unavailable`: no such file (this build has no
// CUDA), a library that it needs is not there, another version.
base::Result<const Module*> open_module(const std::filesystem::path& file);

// The GPUs of this machine, by the module beside the program. Problems: as of open_module, or no
// driver, one too old for the module, no GPU.
base::Result<std::vector<Gpu>> gpus();

// The module beside the program, as open_module.
base::Result<const Module*> module_beside_program();

}  // namespace trainyard::cuda
