// SPDX-License-Identifier: GPL-3.0-or-later
// Measurements of a GPU by NVML (NVIDIA Management Library, "NVML API Reference Guide"), which is
// part of the driver and is opened at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/compute/device_use.h"

namespace trainyard::cuda {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Describes how the GPU is connected, for example "PCIe 5.0 x16, 18 NVLinks" (links that are up).
// Empty if the driver does not report it. `bus` is CUDA's PCI bus id, for example "0000:3b:00.0".
std::string links_of(const std::string& bus, const std::string& library = kNvmlLibrary);

// Samples a GPU twice per second in a private thread, because NVML takes 20 ms to measure PCIe
// traffic.
class GpuMeter {
 public:
  // Starts sampling. `bus` is as in links_of. Problems, all `unavailable`: no NVML library, a
  // library that lacks a function, or no such GPU.
  static base::Result<std::unique_ptr<GpuMeter>> watch(const std::string& bus,
                                                       const std::string& library = kNvmlLibrary);
  ~GpuMeter();

  // Returns the latest sample, or nothing before the first. Values that the GPU does not report are
  // 0.
  std::optional<compute::DeviceUse> use() const;

 private:
  struct Sampler;
  explicit GpuMeter(std::unique_ptr<Sampler> sampler);
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace trainyard::cuda
