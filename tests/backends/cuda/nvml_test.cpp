// SPDX-License-Identifier: GPL-3.0-or-later
// Interpretation of NVML's answers, with a substitute for the driver's library.
#include "backends/cuda/module/nvml.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace trainyard::cuda {
namespace {

constexpr const char* kBus = "0000:3b:00.0";

// Once `enough` is so, within ten seconds.
template <class Enough>
std::optional<compute::DeviceUse> seen(const GpuMeter& meter, Enough enough) {
  for (int i = 0; i < 1000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (const auto use = meter.use(); use && enough(*use)) return use;
  return std::nullopt;
}

TEST(GpuMeter, reports_current_values_of_the_driver) {
  const auto meter = GpuMeter::watch(kBus, TRAINYARD_NVML);
  ASSERT_TRUE(meter) << base::to_string(meter.error());
  const auto first = seen(**meter, [](const compute::DeviceUse&) { return true; });
  ASSERT_TRUE(first);
  EXPECT_EQ(first->memory_bytes, 42);
  EXPECT_EQ(first->bus, (compute::Rates{9e3, 7e3}));
  EXPECT_EQ(first->watts, 0) << "it reports nothing";
  EXPECT_GT(first->busy, 0);
  EXPECT_LE(first->busy, 1);
  EXPECT_TRUE(seen(**meter, [&](const compute::DeviceUse& use) { return use.busy > first->busy; }));
}

TEST(GpuMeter, reports_link_traffic_between_two_readings) {
  const auto meter = GpuMeter::watch(kBus, TRAINYARD_NVML);
  ASSERT_TRUE(meter);
  const auto use =
      seen(**meter, [](const compute::DeviceUse& one) { return one.links.has_value(); });
  ASSERT_TRUE(use) << "from the second reading on";
  EXPECT_GT(use->links->sent_bytes_per_second, 0);
  EXPECT_LT(use->links->sent_bytes_per_second, 1.024e6 / 0.4)
      << "two readings are half a second apart";
  EXPECT_NEAR(use->links->received_bytes_per_second, 2 * use->links->sent_bytes_per_second, 1e-6);
}

TEST(Links, are_reported_for_an_existing_gpu_only) {
  EXPECT_EQ(links_of(kBus, TRAINYARD_NVML), "PCIe 5.0 x16, 2 NVLinks");
  EXPECT_EQ(links_of("0000:00:00.0", TRAINYARD_NVML), "");
  EXPECT_EQ(links_of(kBus, "/no/such/library.so"), "");
}

TEST(GpuMeter, closes_the_driver_at_its_end) {
  void* const library = ::dlopen(TRAINYARD_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto users = reinterpret_cast<int (*)()>(::dlsym(library, "users_of_nvml"));
  {
    const auto meter = GpuMeter::watch(kBus, TRAINYARD_NVML);
    EXPECT_EQ(users(), 1);
  }
  EXPECT_EQ(users(), 0);
}

TEST(GpuMeter, reports_missing_values) {
  const auto no_gpu = GpuMeter::watch("0000:00:00.0", TRAINYARD_NVML);
  ASSERT_FALSE(no_gpu);
  EXPECT_EQ(no_gpu.error().code, base::ProblemCode::unavailable);
  EXPECT_EQ(no_gpu.error().id, "nvml_failed");
  const auto no_library = GpuMeter::watch(kBus, "/no/such/library.so");
  ASSERT_FALSE(no_library);
  EXPECT_EQ(no_library.error().id, "library_unavailable");
  EXPECT_EQ(no_library.error().where, "/no/such/library.so");
  const auto another = GpuMeter::watch(kBus, "libm.so.6");
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().id, "library_unavailable");
  EXPECT_EQ(another.error().where, "libm.so.6");
}

}  // namespace
}  // namespace trainyard::cuda
