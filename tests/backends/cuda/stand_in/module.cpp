// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-cuda.so of a machine that seems to have four GPUs: two intact, one with almost no
// memory, and one that breaks while it trains; or the number of them in TRAINYARD_STAND_INS. They
// export memory, unless TRAINYARD_STAND_INS_EXPORT_NOTHING is set; with TRAINYARD_STAND_INS_OLD the
// first GPU is of 2018. This process computes for them, asynchronously, with the kernels of GPUs;
// their memory is private.
#include <array>
#include <cstdlib>

#include "backends/cuda/cuda.h"
#include "tests/backends/cuda/host/host_device.h"
#include "tests/backends/nccl/stand_in/host_streams.h"
#include "tests/conformance/delayed_compute.h"

namespace trainyard::cuda {
namespace {

constexpr compute::DeviceUse kUse{.busy = 0.75,
                                  .memory_bytes = 123'000'000,
                                  .watts = 42,
                                  .bus = {5e6, 4e6},
                                  .links = compute::Rates{7e6, 6e6}};
const std::array<OnHost, 4> kGpus{OnHost{.own_memory = true, .use = kUse},
                                  {.own_memory = true, .use = kUse},
                                  {.own_memory = true, .memory_bytes = 100'000},
                                  {.own_memory = true, .breaks_after = 100}};

base::Result<std::vector<Gpu>> stand_ins() {
  std::vector<Gpu> all;
  const char* const asked = std::getenv("TRAINYARD_STAND_INS");
  for (int number = 0;
       number < (asked != nullptr ? std::atoi(asked) : static_cast<int>(kGpus.size())); ++number)
    all.push_back({number, "Stand-in " + std::to_string(number),
                   "0000:0" + std::to_string(number) + ":00.0", 2'000'000'000, 90, 20e12, 1e12,
                   "PCIe 4.0 x16"});
  if (std::getenv("TRAINYARD_STAND_INS_OLD") != nullptr) all.front().capability = 75;
  return all;
}

// Streams of the one GPU per process, which the NCCL substitute looks up
// (tests/backends/nccl/library).
class OwnStreams final : public nccl::HostStreams {
 public:
  OwnStreams() { of_process = this; }
  ~OwnStreams() override { of_process = nullptr; }
  static void finish_all_there_are() {
    if (of_process != nullptr) of_process->finish_all();
  }

 private:
  inline static OwnStreams* of_process = nullptr;
};

// A new kernel waits for all work of the device, including data from a peer, as a GPU may do when
// it loads a kernel.
base::Result<std::unique_ptr<compute::Compute>> make_stand_in(int number) {
  OnHost how = kGpus.at(static_cast<std::size_t>(number));
  how.exports = std::getenv("TRAINYARD_STAND_INS_EXPORT_NOTHING") == nullptr;
  return std::make_unique<tests::AsynchronousCompute>(on_host(how), nullptr,
                                                      OwnStreams::finish_all_there_are);
}

base::Result<std::unique_ptr<compute::Streams>> make_stand_in_streams(int number) {
  ::setenv("TRAINYARD_STAND_IN_GPU", std::to_string(number).c_str(), 1);
  return std::make_unique<OwnStreams>();
}

}  // namespace
}  // namespace trainyard::cuda

extern "C" [[gnu::visibility("default")]] const trainyard::cuda::Module trainyard_cuda{
    TRAINYARD_VERSION, trainyard::cuda::stand_ins, trainyard::cuda::make_stand_in,
    trainyard::cuda::make_stand_in_streams};
