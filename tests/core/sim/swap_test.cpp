// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of offloading, computed by hand. Devices of the star have 1e9 flop/s and 1e9 B/s.
#include <gmock/gmock.h>

#include "core/plan/text.h"
#include "core/sim/rank_model.h"
#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

// Makes 4 MB in 20 ms; something else takes `between` ms while they go and come back; then they are
// read.
plan::Plan offloading_plan(const std::string& place, int between) {
  return plan::parse(
             "plan 1\nschedule steps 1 full 1\nrank 0\nlane compute compute\nlane copy "
             "copy\nbuffer act.s0 fp32 1000000\nbuffer act.s0@home fp32 1000000 " +
             place +
             "\nprogram train samples 1 of 1\n"
             "F.s0.m0 @compute writes act.s0 flops 20000000\n"
             "OUT.s0.m0 @copy reads act.s0 writes act.s0@home after compute:1\n"
             "F.s1.m0 @compute flops " +
             std::to_string(between) +
             "000000\n"
             "IN.s0.m0 @copy reads act.s0@home writes act.s0 after compute:1\n"
             "W.s0.m0 @compute reads act.s0 flops 5000000 after copy:2\n")
      .value();
}

double seconds_of(const std::string& place, int between, const topology::Topology& drawing) {
  return simulated(offloading_plan(place, between), drawing, bare()).outcome.first_step_seconds;
}

// A CPU's copy reads 4 MB and writes them: 8 ms in each direction.
TEST(Offloading, is_hidden_behind_computation) {
  EXPECT_NEAR(seconds_of("host", 16, star({.hosts = 1})), 20e-3 + 16e-3 + 5e-3, kExact);
  EXPECT_NEAR(seconds_of("host", 40, star({.hosts = 1})), 20e-3 + 40e-3 + 5e-3, kExact);
  EXPECT_NEAR(seconds_of("host", 10, star({.hosts = 1})), 20e-3 + 2 * 8e-3 + 5e-3, kExact)
      << "6 ms of waiting";
}

TEST(Offloading, is_hidden_if_every_lane_has_a_thread) {
  Options options = bare();
  options.lanes_per_thread = LanesPerThread::one;
  EXPECT_NEAR(simulated(offloading_plan("host", 10), star({.hosts = 1}), options)
                  .outcome.first_step_seconds,
              41e-3, kExact);
}

TEST(Offloading, to_disk_adds_the_latency_of_the_disk) {
  EXPECT_NEAR(seconds_of("disk", 1, star({.hosts = 1})),
              20e-3 + 2 * (8e-3 + kDisk.latency_seconds) + 5e-3, kExact);
}

TEST(Offloading, of_an_accelerator_uses_the_bus_of_its_host) {
  topology::Topology drawing = star({.hosts = 1});
  drawing.hosts[0].devices[0].kind = topology::DeviceKind::gpu;
  drawing.hosts[0].bus_bandwidth_bits_per_second = 1.6e9;
  drawing.hosts[0].bus_latency_seconds = 1e-3;
  EXPECT_NEAR(seconds_of("host", 1, drawing), 20e-3 + 2 * (4e6 / 0.2e9 + 1e-3) + 5e-3, kExact);
  drawing.hosts[0].bus_bandwidth_bits_per_second = 1e15;
  EXPECT_NEAR(seconds_of("disk", 1, drawing),
              20e-3 + 2 * (4e6 / kDisk.bytes_per_second + 1e-3 + kDisk.latency_seconds) + 5e-3,
              kExact);
}

}  // namespace
}  // namespace trainyard::sim
