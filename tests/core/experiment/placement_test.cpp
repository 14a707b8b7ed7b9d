// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fsdp.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

TEST(Placement, caveat_compares_requested_cores_with_available_cores) {
  topology::Topology topology = small(1, 4).topology;
  EXPECT_EQ(shared_cores_caveat(topology, {}, 4), std::nullopt);
  EXPECT_THAT(shared_cores_caveat(topology, {}, 2),
              Optional(AllOf(HasSubstr("4 ranks"), HasSubstr("2 cores"))));
  EXPECT_EQ(shared_cores_caveat(topology, {.clock = RunClock::virtual_time}, 2), std::nullopt)
      << "a virtual clock uses the drawn times";
  topology.hosts[0].devices[0].cores = 5;
  EXPECT_THAT(shared_cores_caveat(topology, {}, 7),
              Optional(AllOf(HasSubstr("4 ranks"), HasSubstr("7 cores"))));
  topology.hosts[0].devices[0].role = topology::Role::idle;
  EXPECT_EQ(shared_cores_caveat(topology, {}, 3), std::nullopt);
  topology.hosts[0].devices[1].role = topology.hosts[0].devices[2].role = topology::Role::idle;
  EXPECT_EQ(shared_cores_caveat(topology, {}, 0), std::nullopt) << "one rank does not share cores";
}

TEST(Placement, accelerator_without_a_real_gpu_is_emulated) {
  using enum topology::DeviceKind;
  EXPECT_FALSE(is_emulated({.name = "a", .kind = cpu}));
  EXPECT_TRUE(is_emulated({.name = "a", .kind = gpu}));
  EXPECT_TRUE(is_emulated({.name = "a", .kind = tpu}));
  EXPECT_FALSE(is_emulated({.name = "a", .kind = gpu, .role = topology::Role::idle}))
      << "idle devices run nothing";
  EXPECT_FALSE(is_emulated({.name = "a", .kind = gpu, .gpu = 0})) << "the GPU is real";
  EXPECT_TRUE(is_emulated({.name = "a", .kind = tpu, .gpu = 0}));
}

TEST(Placement, caveat_counts_ranks_of_each_shared_gpu) {
  topology::Topology topology = small(1, 4).topology;
  std::vector<topology::Device>& devices = topology.hosts[0].devices;
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d].gpu = d == 0 ? 1 : 0;
  EXPECT_EQ(shared_gpus_caveat(topology), std::nullopt) << "the devices are CPUs";
  for (topology::Device& device : devices) device.kind = topology::DeviceKind::gpu;
  EXPECT_THAT(shared_gpus_caveat(topology),
              Optional(AllOf(HasSubstr("GPU 0"), HasSubstr("3 ranks"), Not(HasSubstr("GPU 1")))));
  devices[1].gpu = 1;
  EXPECT_THAT(shared_gpus_caveat(topology),
              Optional(AllOf(HasSubstr("GPU 0"), HasSubstr("2 ranks"), HasSubstr("GPU 1 by 2"))));
  devices[1].role = devices[2].role = topology::Role::idle;
  EXPECT_EQ(shared_gpus_caveat(topology), std::nullopt);
}

TEST(Placement, ranks_with_the_same_index_are_on_different_gpus) {
  topology::Topology topology = small(2, 3).topology;
  const auto places = [&](const std::vector<int>& gpus) {
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
      topology::Device& device = topology.hosts[rank / 3].devices[rank % 3];
      device.kind = topology::DeviceKind::gpu, device.gpu = gpus[rank];
    }
    const topology::Network network(topology);
    std::vector<int> of;
    for (int rank = 0; rank < 6; ++rank) of.push_back(index_on_gpu(network, network.ranks(), rank));
    return of;
  };
  EXPECT_EQ(places({0, 1, 2, 3, 4, 5}), (std::vector{0, 0, 0, 0, 0, 0})) << "no GPU is shared";
  EXPECT_EQ(places({0, 1, 0, 1, 0, 1}), (std::vector{0, 0, 1, 1, 2, 2}))
      << "drawn hosts share the GPUs of this machine";
  EXPECT_EQ(places({0, 0, 0, 1, 2, 3}), (std::vector{0, 1, 2, 0, 0, 0}))
      << "a rank with its own GPU has index 0";
  EXPECT_EQ(places({-1, -1, 0, 0, 1, 1}), (std::vector{0, 0, 0, 1, 0, 1}))
      << "emulated ranks share no GPU";
}

TEST(Placement, replicas_on_cpus_and_gpus_have_separate_identical_groups) {
  Experiment e = small(1, 4);
  EXPECT_EQ(equivalence_caveats(e), std::nullopt);
  for (const std::size_t d : {1U, 2U})
    e.topology.hosts[0].devices[d].kind = topology::DeviceKind::gpu,
    e.topology.hosts[0].devices[d].gpu = 0;
  EXPECT_THAT(equivalence_caveats(e), Optional(AllOf(HasSubstr("CPUs"), HasSubstr("GPUs"))));
  EXPECT_EQ(identical_parameter_groups(resolve(e, ".").value()),
            (std::vector<std::vector<int>>{{0, 3}, {1, 2}}));
}

}  // namespace
}  // namespace trainyard::experiment
