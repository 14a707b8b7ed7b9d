// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "core/base/machine.h"
#include "core/base/units.h"

namespace trainyard::app {
namespace {

using topology::Device;

constexpr const char* kAdvice =
    "Set gpu to -1 to emulate the device on the CPU (with run.emulate). trainyard-cli doctor lists "
    "the GPUs of this machine.";

// Returns a problem if the GPU that a device names is missing on this machine, or cannot compute.
std::optional<base::Problem> lacking(const Device& device, const std::string& path,
                                     const base::Result<std::vector<cuda::Gpu>>& here) {
  const auto problem = [&](const std::string& why, const std::string& accepted,
                           const std::string& advice) {
    return base::Problem{
        "gpu_unavailable",
        base::ProblemCode::unavailable,
        path,
        fmt::format("{} is mapped to GPU {} of this machine, but {}", device.name, device.gpu, why),
        accepted,
        advice + kAdvice};
  };
  if (!here)
    return problem(here.error().what, "-1",
                   here.error().advice + (here.error().advice.empty() ? "" : " "));
  if (device.gpu >= std::ssize(*here))
    return problem(fmt::format("the machine has {}", base::counted(std::ssize(*here), "GPU")),
                   fmt::format("-1 to {}", std::ssize(*here) - 1), "");
  if (const std::string why = cuda::unusable((*here)[static_cast<std::size_t>(device.gpu)]);
      !why.empty())
    return problem(why, "a newer GPU, or -1", "");
  return std::nullopt;
}

}  // namespace

base::Result<std::unique_ptr<compute::Compute>> make_compute(const Device& device) {
  if (!topology::is_on_gpu(device))
    return cpu::make(std::min(static_cast<int>(device.cores), base::usable_cores()));
  return cuda::module_beside_program().and_then([&](const cuda::Module* module) {
    return module->make_compute(static_cast<int>(device.gpu));
  });
}

base::Problems gpu_problems(const topology::Topology& topology) {
  base::Problems problems;
  std::optional<base::Result<std::vector<cuda::Gpu>>> here;
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d) {
      const Device& device = topology.hosts[h].devices[d];
      if (!topology::runs(device) || !topology::is_on_gpu(device)) continue;
      if (!here) here = cuda::gpus();
      if (auto problem =
              lacking(device, fmt::format("topology.hosts[{}].devices[{}].gpu", h, d), *here))
        problems.push_back(std::move(*problem));
    }
  return problems;
}

}  // namespace trainyard::app
