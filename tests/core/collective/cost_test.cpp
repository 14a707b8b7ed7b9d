// SPDX-License-Identifier: GPL-3.0-or-later
// The one rule of cost against the closed forms that it must agree with, and the choice by it.
#include "core/collective/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/collective/one_bucket.h"

namespace trainyard::collective {
namespace {

constexpr double kBandwidth = 8e9;  // bit/s: a byte takes 1 ns
constexpr double kLatency = 1e-4;   // of a way into or out of the switch

// `hosts` with `devices` each, around one switch. Memory is so fast that adding up takes no time.
topology::Topology star_of(int hosts, int devices) {
  topology::Topology drawing;
  drawing.switches.push_back({"switch", 0, 0});
  for (int h = 0; h < hosts; ++h) {
    topology::Host host;
    host.name = "host" + std::to_string(h);
    host.bus_bandwidth_bits_per_second = 1e15;
    host.bus_latency_seconds = 0;
    for (int d = 0; d < devices; ++d) {
      topology::Device device;
      device.name = "cpu" + std::to_string(h) + "." + std::to_string(d);
      device.memory_bandwidth_bytes_per_second = 1e16;
      host.devices.push_back(device);
    }
    drawing.hosts.push_back(host);
    drawing.links.push_back({host.name, "switch", kBandwidth, kLatency});
  }
  return drawing;
}

struct Drawn {
  Drawn(int hosts, int devices) : network(star_of(hosts, devices)), work{0, 4, network.workers(), {}} {
    for (const topology::DeviceId device : work.devices) work.hosts.push_back(network.host_index(device));
  }
  Cost of(Algorithm algorithm, std::int64_t elements, std::int64_t segment_bytes = 0) {
    work.elements = elements;
    return cost(algorithm, segment_bytes, work, network).value();
  }
  topology::Network network;
  Work work;
};

constexpr double kByte = 8 / kBandwidth;  // seconds

TEST(Cost, of_a_ring_is_2_n_minus_1_rounds_of_a_chunk_each) {
  for (int n = 2; n <= 9; ++n) {
    const Cost cost = Drawn(n, 1).of(Algorithm::ring, 1000 * n);
    EXPECT_EQ(cost.rounds, 2 * (n - 1));
    EXPECT_NEAR(cost.seconds, 2 * (n - 1) * (2 * kLatency + 4000 * kByte), 1e-9);
    EXPECT_EQ(cost.busiest_bytes, 2 * (n - 1) * 4000);
    EXPECT_EQ(cost.total_bytes, n * cost.busiest_bytes);
  }
}

TEST(Cost, of_direct_has_the_latency_of_two_rounds_only) {
  for (int n = 2; n <= 9; ++n) EXPECT_NEAR(Drawn(n, 1).of(Algorithm::direct, 1000 * n).seconds, 2 * (2 * kLatency + (n - 1) * 4000 * kByte), 1e-9);
}

TEST(Cost, of_a_star_is_what_its_centre_takes_in_and_gives_out) {
  for (int n = 2; n <= 9; ++n) EXPECT_NEAR(Drawn(n, 1).of(Algorithm::star, 1000).seconds, 2 * (2 * kLatency + (n - 1) * 4000 * kByte), 1e-9);
}

TEST(Cost, of_halving_and_doubling_is_log2_rounds_that_halve) {
  const Cost cost = Drawn(8, 1).of(Algorithm::halving_doubling, 8000);
  EXPECT_NEAR(cost.seconds, 2 * (3 * 2 * kLatency + (4 + 2 + 1) * 4000 * kByte), 1e-9);
}

TEST(Cost, routes_that_share_a_link_share_its_bandwidth) {
  // Two devices of one host send to two of another at once over one link, in a ring of four that crosses twice: no sharing.
  EXPECT_NEAR(Drawn(2, 2).of(Algorithm::ring, 4000).seconds, 6 * (2 * kLatency + 4000 * kByte), 1e-9);
  // All to all: each of two devices sends all it has to two devices beyond the link.
  EXPECT_NEAR(Drawn(2, 2).of(Algorithm::all_to_all, 1000).seconds, 2 * kLatency + 4 * 4000 * kByte, 1e-9);
}

TEST(Cost, adding_up_takes_the_memory_of_the_device) {
  topology::Topology drawing = star_of(2, 1);
  for (topology::Host& host : drawing.hosts) host.devices[0].memory_bandwidth_bytes_per_second = 1e9;
  const topology::Network network(drawing);
  const Work work{1000, 4, network.workers(), {0, 1}};
  const double free = Drawn(2, 1).of(Algorithm::ring, 1000).seconds;
  EXPECT_NEAR(cost(Algorithm::ring, 0, work, network)->seconds, free + (3 + 2) * 2000 / 1e9, 1e-9);  // adds one chunk, copies one
}

TEST(Cost, segments_shorten_a_tree_of_large_buckets_and_lengthen_one_of_small_ones) {
  Drawn drawn(8, 1);
  EXPECT_LT(drawn.of(Algorithm::binary_tree, 10'000'000, 1'000'000).seconds, drawn.of(Algorithm::binary_tree, 10'000'000).seconds);
  EXPECT_GT(drawn.of(Algorithm::binary_tree, 1000, 100).seconds, drawn.of(Algorithm::binary_tree, 1000).seconds);
}

TEST(Choice, takes_few_rounds_for_small_buckets_and_few_bytes_for_large_ones) {
  const topology::Network network(star_of(8, 1));
  Work work{10, 4, network.workers(), {0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(choose(0, work, network)->algorithm, Algorithm::all_to_all);
  work.elements = 100'000'000;
  EXPECT_EQ(choose(0, work, network)->algorithm, Algorithm::direct);
}

TEST(Choice, keeps_large_buckets_off_slow_links_between_hosts) {
  topology::Topology drawing = star_of(2, 4);
  for (topology::Link& link : drawing.links) link.latency_seconds = 1e-6;
  for (topology::Host& host : drawing.hosts) host.bus_bandwidth_bits_per_second = 100 * kBandwidth;
  const topology::Network network(drawing);
  const Work work{10'000'000, 4, network.workers(), {0, 0, 0, 0, 1, 1, 1, 1}};
  const auto choice = choose(0, work, network);
  EXPECT_EQ(choice->algorithm, Algorithm::sharded_hierarchical);  // the bytes of the torus between hosts, in fewer rounds within
  EXPECT_THAT(choice->reason, testing::StartsWith(std::string(base::name_of(choice->algorithm)) + ": "));
  EXPECT_THAT(choice->reason, testing::HasSubstr("a bucket of 40 MB"));
}

TEST(Choice, names_two_devices_without_a_route) {
  topology::Topology drawing = star_of(2, 1);
  drawing.links.clear();
  const topology::Network network(drawing);
  const auto choice = choose(0, {10, 4, network.workers(), {0, 1}}, network);
  ASSERT_FALSE(choice);
  EXPECT_THAT(base::to_string(choice.error()), testing::HasSubstr("cpu0.0"));
}

}  // namespace
}  // namespace trainyard::collective
