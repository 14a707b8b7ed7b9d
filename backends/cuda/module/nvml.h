// SPDX-License-Identifier: GPL-3.0-or-later
// What the driver says of a GPU: by NVML (NVIDIA Management Library, "NVML API Reference Guide"),
// which comes with the driver and is opened at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/compute/device_use.h"

namespace trainyard::cuda {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// How the GPU is connected: "PCIe 5.0 x16, 18 NVLinks", of links that are up; empty where the
// driver does not say. `bus` as CUDA names it: "0000:3b:00.0".
std::string links_of(const std::string& bus, const std::string& library = kNvmlLibrary);

// Looks at a GPU twice a second, in a thread of its own: NVML takes a fiftieth of a second to count
// what crosses the bus.
class GpuMeter {
 public:
  // `bus` as of links_of. Problems, all `unavailable`: no such library, one that lacks a function,
  // no such GPU.
  static base::Result<std::unique_ptr<GpuMeter>> watch(const std::string& bus,
                                                       const std::string& library = kNvmlLibrary);
  ~GpuMeter();

  // As it was seen last; nothing before the first look. What a GPU does not tell is 0.
  std::optional<compute::DeviceUse> use() const;

 private:
  struct Watch;
  explicit GpuMeter(std::unique_ptr<Watch> watch);
  std::unique_ptr<Watch> watch_;
};

}  // namespace trainyard::cuda
