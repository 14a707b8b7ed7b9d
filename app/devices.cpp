// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/devices.h"

#include <optional>

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"

namespace trainyard::app {
namespace {

using topology::Device;

constexpr const char* kAdvice = "Set it to -1: then it runs emulated on the CPU. trainyard-cli doctor lists the GPUs of this machine.";

base::Problem absent(const Device& device, const std::string& path, const base::Result<std::vector<cuda::Gpu>>& here) {
  const std::string what = device.name + " is said to be GPU " + std::to_string(device.gpu) + " of this machine, ";
  if (!here) return {base::ProblemCode::unavailable, path, what + "and " + here.error().what, "-1", kAdvice};
  return {base::ProblemCode::unavailable, path, what + "which has " + std::to_string(here->size()), "-1 to " + std::to_string(std::ssize(*here) - 1), kAdvice};
}

}  // namespace

base::Result<std::unique_ptr<compute::Compute>> make_compute(const Device& device) {
  if (!topology::is_on_gpu(device)) return cpu::make(static_cast<int>(device.cores));
  return cuda::module_beside_program().and_then([&](const cuda::Module* module) { return module->make_compute(static_cast<int>(device.gpu)); });
}

base::Problems gpu_problems(const topology::Topology& topology) {
  base::Problems problems;
  std::optional<base::Result<std::vector<cuda::Gpu>>> here;
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d) {
      const Device& device = topology.hosts[h].devices[d];
      if (!topology::runs(device) || !topology::is_on_gpu(device)) continue;
      if (!here) here = cuda::gpus();
      if (*here && device.gpu < std::ssize(**here)) continue;
      problems.push_back(absent(device, "topology.hosts[" + std::to_string(h) + "].devices[" + std::to_string(d) + "].gpu", *here));
    }
  return problems;
}

}  // namespace trainyard::app
