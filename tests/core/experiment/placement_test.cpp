// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/placement.h"

#include <gtest/gtest.h>

#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

TEST(Placement, ranks_that_share_cores_are_counted_by_the_cores_they_want) {
  topology::Topology topology = small(1, 4).topology;
  EXPECT_EQ(shared_cores(topology, {}, 4), std::nullopt);
  EXPECT_EQ(shared_cores(topology, {}, 2), "4 ranks share 2 cores: times include waiting for each other");
  EXPECT_EQ(shared_cores(topology, {.clock = RunClock::made_up}, 2), std::nullopt) << "its times are the drawn ones";
  topology.hosts[0].devices[0].cores = 5;
  EXPECT_EQ(shared_cores(topology, {}, 7), "4 ranks share 7 cores: times include waiting for each other");
  topology.hosts[0].devices[0].role = topology::Role::idle;
  EXPECT_EQ(shared_cores(topology, {}, 3), std::nullopt);
  topology.hosts[0].devices[1].role = topology.hosts[0].devices[2].role = topology::Role::idle;
  EXPECT_EQ(shared_cores(topology, {}, 0), std::nullopt) << "one rank shares with nobody";
}

TEST(Placement, a_worker_that_is_drawn_as_an_accelerator_is_emulated) {
  using enum topology::DeviceKind;
  EXPECT_FALSE(is_emulated({.name = "a", .kind = cpu}));
  EXPECT_TRUE(is_emulated({.name = "a", .kind = gpu}));
  EXPECT_TRUE(is_emulated({.name = "a", .kind = tpu}));
  EXPECT_FALSE(is_emulated({.name = "a", .kind = gpu, .role = topology::Role::idle})) << "nothing runs there";
}

}  // namespace
}  // namespace trainyard::experiment
