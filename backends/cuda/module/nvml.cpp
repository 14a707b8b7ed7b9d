// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/nvml.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/functions.h"

namespace trainyard::cuda {

// Types and constants from NVIDIA's NVML API reference. Functions return 0 on success.
namespace nvml {

using Handle = struct NvmlDevice*;
struct Utilization {
  unsigned gpu, memory;  // percent
};
struct MemoryInfo {
  unsigned long long total, free, used;  // bytes
};
enum Counter { sent, received };  // NVML_PCIE_UTIL_TX_BYTES, _RX_BYTES
struct Field {                    // nvmlFieldValue_t
  unsigned id = 0, scope = 0;
  long long timestamp = 0, latency = 0;  // of the value, in microseconds
  int type = 0, error = 0;
  unsigned long long value = 0;
};
constexpr unsigned kLinksSent = 138,
                   // NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX: bytes sent and received by
                   // NVLink, in KiB since the driver was loaded.
    kLinksReceived = 139;
constexpr unsigned kAllLinks = ~0U;  // scope of a field: the sum of all links
constexpr unsigned kMaxLinks = 18;   // NVML_NVLINK_MAX_LINKS

struct Functions {
  int (*initialize)() = nullptr;
  int (*shut_down)() = nullptr;
  const char* (*error)(int) = nullptr;
  int (*by_bus)(const char*, Handle*) = nullptr;
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*memory)(Handle, MemoryInfo*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;         // power in milliwatts
  int (*traffic)(Handle, int, unsigned*) = nullptr;  // PCIe traffic of a Counter, in KB/s
  int (*fields)(Handle, int, Field*) = nullptr;      // null with drivers older than NVLink
  // Returns the maximum PCIe generation. This and the following functions are null with old
  // drivers.
  int (*generation)(Handle, unsigned*) = nullptr;
  int (*width)(Handle, unsigned*) = nullptr;      // maximum PCIe lanes
  int (*link)(Handle, unsigned, int*) = nullptr;  // state of an NVLink: up or not
};

}  // namespace nvml

namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using compute::DeviceUse;

constexpr std::chrono::milliseconds kEvery{500};

constexpr const char* kAdvice = "Install the NVIDIA driver, which contains this library.";

Result<nvml::Functions> functions_of(const std::string& library) {
  base::Functions functions(library, kAdvice);
  nvml::Functions f;
  functions.find(f.initialize, "nvmlInit_v2");
  functions.find(f.shut_down, "nvmlShutdown");
  functions.find(f.error, "nvmlErrorString");
  functions.find(f.by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  functions.find(f.utilization, "nvmlDeviceGetUtilizationRates");
  functions.find(f.memory, "nvmlDeviceGetMemoryInfo");
  functions.find(f.power, "nvmlDeviceGetPowerUsage");
  functions.find(f.traffic, "nvmlDeviceGetPcieThroughput");
  functions.find_optional(f.fields, "nvmlDeviceGetFieldValues");
  functions.find_optional(f.generation, "nvmlDeviceGetMaxPcieLinkGeneration");
  functions.find_optional(f.width, "nvmlDeviceGetMaxPcieLinkWidth");
  functions.find_optional(f.link, "nvmlDeviceGetNvLinkState");
  if (const auto found = functions.state(); !found) return base::fail(found.error());
  return f;
}

}  // namespace

static Problem refused(const nvml::Functions& driver, const std::string& library,
                       const std::string& what, int error) {
  return {"nvml_failed", ProblemCode::unavailable, library, what + ": " + driver.error(error), "",
          kAdvice};
}

// Describes how the GPU is connected (PCIe and NVLink). A GPU without NVLink has no link that is
// up.
static std::string links_text(const nvml::Functions& driver, nvml::Handle gpu) {
  std::string said;
  unsigned generation = 0, lanes = 0, up = 0;
  if (driver.generation != nullptr && driver.width != nullptr &&
      driver.generation(gpu, &generation) == 0 && driver.width(gpu, &lanes) == 0)
    said = "PCIe " + std::to_string(generation) + ".0 x" + std::to_string(lanes);
  for (unsigned link = 0; driver.link != nullptr && link < nvml::kMaxLinks; ++link)
    if (int is_up = 0; driver.link(gpu, link, &is_up) == 0 && is_up != 0) ++up;
  if (up > 0)
    said += (said.empty() ? "" : ", ") + std::to_string(up) + (up == 1 ? " NVLink" : " NVLinks");
  return said;
}

std::string links_of(const std::string& bus, const std::string& library) {
  const auto driver = functions_of(library);
  if (!driver || driver->initialize() != 0) return "";
  nvml::Handle gpu = nullptr;
  std::string said = driver->by_bus(bus.c_str(), &gpu) == 0 ? links_text(*driver, gpu) : "";
  driver->shut_down();
  return said;
}

struct GpuMeter::Sampler {
  nvml::Functions driver;
  nvml::Handle gpu = nullptr;
  mutable std::mutex mutex;
  std::condition_variable_any ends;
  std::optional<DeviceUse> last;
  struct LinkCounters {
    std::chrono::steady_clock::time_point at;
    unsigned long long received = 0, sent = 0;  // KiB
  };
  std::optional<LinkCounters> crossed;
  std::jthread thread;

  ~Sampler() {
    thread = {};  // requests a stop and joins the thread
    driver.shut_down();
  }

  double traffic(nvml::Counter which) const {
    unsigned kilobytes = 0;
    return driver.traffic(gpu, which, &kilobytes) == 0 ? 1e3 * kilobytes : 0;
  }

  // Returns the NVLink throughput since the previous call. Returns nothing at the first call, or if
  // the GPU has no NVLink.
  std::optional<compute::Rates> links() {
    std::array<nvml::Field, 2> found{nvml::Field{nvml::kLinksReceived, nvml::kAllLinks},
                                     nvml::Field{nvml::kLinksSent, nvml::kAllLinks}};
    if (driver.fields == nullptr || driver.fields(gpu, 2, found.data()) != 0 ||
        found[0].error != 0 || found[1].error != 0)
      return std::nullopt;
    const LinkCounters now{std::chrono::steady_clock::now(), found[0].value, found[1].value};
    const auto before = std::exchange(crossed, now);
    if (!before) return std::nullopt;
    const double seconds = std::chrono::duration<double>(now.at - before->at).count();
    const auto rate = [&](unsigned long long from, unsigned long long to) {
      return 1024.0 * static_cast<double>(std::max(from, to) - from) / seconds;
    };
    return compute::Rates{rate(before->received, now.received), rate(before->sent, now.sent)};
  }

  DeviceUse look() {
    DeviceUse use;
    if (nvml::Utilization found{}; driver.utilization(gpu, &found) == 0)
      use.busy = found.gpu / 100.0;
    if (nvml::MemoryInfo found{}; driver.memory(gpu, &found) == 0)
      use.memory_bytes = static_cast<std::int64_t>(found.used);
    if (unsigned milliwatts = 0; driver.power(gpu, &milliwatts) == 0) use.watts = milliwatts / 1e3;
    use.bus = {traffic(nvml::received), traffic(nvml::sent)};
    use.links = links();
    return use;
  }

  void follow(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const DeviceUse now = look();
      std::unique_lock lock(mutex);
      last = now;
      ends.wait_for(lock, stop, kEvery, [&] { return stop.stop_requested(); });
    }
  }
};

GpuMeter::GpuMeter(std::unique_ptr<Sampler> sampler) : sampler_(std::move(sampler)) {}
GpuMeter::~GpuMeter() = default;

Result<std::unique_ptr<GpuMeter>> GpuMeter::watch(const std::string& bus,
                                                  const std::string& library) {
  const auto functions = functions_of(library);
  if (!functions) return base::fail(functions.error());
  if (const int error = functions->initialize(); error != 0)
    return base::fail(refused(*functions, library, "NVML cannot be initialized", error));
  auto sampler = std::make_unique<Sampler>();
  sampler->driver = *functions;
  if (const int error = functions->by_bus(bus.c_str(), &sampler->gpu); error != 0)
    return base::fail(refused(*functions, library, "cannot find the GPU at " + bus, error));
  sampler->thread =
      std::jthread([one = sampler.get()](const std::stop_token& stop) { one->follow(stop); });
  return std::unique_ptr<GpuMeter>(new GpuMeter(std::move(sampler)));
}

std::optional<DeviceUse> GpuMeter::use() const {
  const std::scoped_lock lock(sampler_->mutex);
  return sampler_->last;
}

}  // namespace trainyard::cuda
