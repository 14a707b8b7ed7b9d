// SPDX-License-Identifier: GPL-3.0-or-later
// The one rule of cost against the closed forms that it must agree with, and the choice by it.
#include "core/collective/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/collective/star_of.h"

namespace trainyard::collective {
namespace {

TEST(Cost, of_a_ring_is_2_n_minus_1_rounds_of_one_chunk) {
  for (int n = 2; n <= 9; ++n) {
    const Cost cost = Drawn(n, 1).of(Algorithm::ring, 1000 * n);
    EXPECT_EQ(cost.rounds, 2 * (n - 1));
    EXPECT_NEAR(cost.seconds, 2 * (n - 1) * (2 * kLatency + 4000 * kByte), 1e-9);
    EXPECT_EQ(cost.busiest_bytes, 2 * (n - 1) * 4000);
    EXPECT_EQ(cost.total_bytes, n * cost.busiest_bytes);
  }
}

TEST(Cost, of_direct_has_the_latency_of_two_rounds) {
  for (int n = 2; n <= 9; ++n)
    EXPECT_NEAR(Drawn(n, 1).of(Algorithm::direct, 1000 * n).seconds,
                2 * (2 * kLatency + (n - 1) * 4000 * kByte), 1e-9);
}

TEST(Cost, of_a_star_is_the_traffic_of_its_center) {
  for (int n = 2; n <= 9; ++n)
    EXPECT_NEAR(Drawn(n, 1).of(Algorithm::star, 1000).seconds,
                2 * (2 * kLatency + (n - 1) * 4000 * kByte), 1e-9);
}

TEST(Cost, of_halving_doubling_is_log2_rounds_of_halving_size) {
  const Cost cost = Drawn(8, 1).of(Algorithm::halving_doubling, 8000);
  EXPECT_NEAR(cost.seconds, 2 * (3 * 2 * kLatency + (4 + 2 + 1) * 4000 * kByte), 1e-9);
}

TEST(Cost, of_halving_doubling_between_powers_of_two_adds_a_fold_before_and_after) {
  for (const int n : {3, 5, 6, 7}) {
    const int power = n < 4 ? 2 : 4, rounds = n < 4 ? 1 : 2;
    const double halves = 4000.0 * (power - 1) / power;  // S/2 + S/4 + ...
    EXPECT_NEAR(Drawn(n, 1).of(Algorithm::halving_doubling, 1000).seconds,
                2 * ((rounds + 1) * 2 * kLatency + (4000 + halves) * kByte), 1e-9)
        << n;
  }
}

TEST(Cost, of_all_to_all_is_one_round_of_the_full_buffer) {
  for (int n = 2; n <= 9; ++n) {
    const Cost cost = Drawn(n, 1).of(Algorithm::all_to_all, 1000);
    EXPECT_EQ(cost.rounds, 1);
    EXPECT_NEAR(cost.seconds, 2 * kLatency + (n - 1) * 4000 * kByte, 1e-9);
  }
}

// A level is as slow as a parent that takes in two children; the lowest may have one only.
TEST(Cost, of_a_binary_tree_is_twice_its_levels) {
  for (int n = 2; n <= 17; ++n) {
    const int levels = static_cast<int>(std::log2(n));
    const int with_two = levels - (n == 1 << levels ? 1 : 0);
    const Cost cost = Drawn(n, 1).of(Algorithm::binary_tree, 1000);
    EXPECT_EQ(cost.rounds, 2 * levels);
    EXPECT_NEAR(cost.seconds, 2 * (levels * 2 * kLatency + (levels + with_two) * 4000 * kByte),
                1e-9)
        << n;
  }
}

// Each tree carries half of the data. A rank that receives two parts in one tree receives nothing
// in the other, and both roots have one child.
TEST(Cost, of_two_binary_trees_is_half_of_one_in_each_level_but_the_highest) {
  for (const int levels : {1, 2, 3, 4}) {
    const Cost cost = Drawn(1 << levels, 1).of(Algorithm::double_binary_tree, 1000);
    EXPECT_EQ(cost.rounds, 2 * levels);
    EXPECT_NEAR(cost.seconds, 2 * (levels * 2 * kLatency + (levels - 0.5) * 4000 * kByte), 1e-9)
        << levels;
  }
}

// All three move S / h in each of 2 (h - 1) rounds over a host's link, whether one member does or
// each a share.
TEST(Cost, of_hierarchical_algorithms_is_a_ring_of_hosts_if_buses_are_fast) {
  for (const Algorithm algorithm :
       {Algorithm::leader_hierarchical, Algorithm::sharded_hierarchical, Algorithm::torus})
    for (const int hosts : {2, 3, 4})
      for (const int devices : {2, 3}) {
        const double chunk = 4.0 * 1000 * devices;
        EXPECT_NEAR(Drawn(hosts, devices).of(algorithm, 1000 * hosts * devices).seconds,
                    2 * (hosts - 1) * (2 * kLatency + chunk * kByte), 1e-8)
            << base::name_of(algorithm) << ", " << hosts << " x " << devices;
      }
}

// A leader takes in and gives out all that its host holds; a ring and a direct exchange of shares
// are shared by all.
TEST(Cost, of_hierarchical_algorithms_differs_if_links_are_fast) {
  const Speeds speeds{.link_bits_per_second = 1e15, .bus_bits_per_second = kBandwidth};
  const auto on_the_bus = [&](Algorithm algorithm, int devices) {
    return Drawn(2, devices, speeds).of(algorithm, 1000 * 2 * devices).seconds -
           2 * 2 * kLatency;  // the latency of the ring of two hosts
  };
  for (const int devices : {2, 3, 4}) {
    const double
        all = 4.0 * 1000 * 2 * devices,
        between =
            all / devices;  // what a member has, and what of it goes to other hosts: in two halves
    EXPECT_NEAR(on_the_bus(Algorithm::torus, devices),
                (2 * (devices - 1) * all / devices + between) * kByte, 1e-9)
        << devices;
    EXPECT_NEAR(on_the_bus(Algorithm::sharded_hierarchical, devices),
                (2 * (devices - 1) * all / devices + between) * kByte, 1e-9)
        << devices;
    EXPECT_NEAR(on_the_bus(Algorithm::leader_hierarchical, devices),
                (2 * (devices - 1) * all + all) * kByte, 1e-9)
        << devices;
  }
}

TEST(Cost, shares_bandwidth_among_routes_over_one_link) {
  // Two devices of one host send to two of another at once over one link, in a ring of four that
  // crosses twice: no sharing.
  EXPECT_NEAR(Drawn(2, 2).of(Algorithm::ring, 4000).seconds, 6 * (2 * kLatency + 4000 * kByte),
              1e-9);
  // All to all: each of two devices sends all it has to two devices beyond the link.
  EXPECT_NEAR(Drawn(2, 2).of(Algorithm::all_to_all, 1000).seconds, 2 * kLatency + 4 * 4000 * kByte,
              1e-9);
}

TEST(Cost, of_reduction_uses_the_memory_bandwidth_of_the_device) {
  const topology::Network network(star_of(2, 1, {.memory_bytes_per_second = 1e9}));
  const Work work{1000, 4, network.workers(), {0, 1}};
  const double free = Drawn(2, 1).of(Algorithm::ring, 1000).seconds;
  EXPECT_NEAR(cost(Algorithm::ring, 0, work, network)->seconds, free + (3 + 2) * 2000 / 1e9,
              1e-9);  // adds one chunk, copies one
}

TEST(Cost, with_segments_is_lower_for_large_buckets_on_a_tree_and_higher_for_small_ones) {
  Drawn drawn(8, 1);
  EXPECT_LT(drawn.of(Algorithm::binary_tree, 10'000'000, 1'000'000).seconds,
            drawn.of(Algorithm::binary_tree, 10'000'000).seconds);
  EXPECT_GT(drawn.of(Algorithm::binary_tree, 1000, 100).seconds,
            drawn.of(Algorithm::binary_tree, 1000).seconds);
}

TEST(Choice, minimizes_rounds_for_small_buckets_and_bytes_for_large_ones) {
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
  EXPECT_EQ(choice->algorithm, Algorithm::sharded_hierarchical);  // the bytes of the torus between
                                                                  // hosts, in fewer rounds within
  EXPECT_THAT(choice->reason,
              testing::AllOf(testing::HasSubstr(std::string(base::name_of(choice->algorithm))),
                             testing::HasSubstr(" 40 MB")));
}

// Without a hierarchy of hosts, sharded_hierarchical equals direct.
TEST(Choice, includes_the_second_best_algorithm) {
  const topology::Network network(star_of(1, 4, {.bus_bits_per_second = kBandwidth}));
  const Work work{100'000'000, 4, network.workers(), {0, 0, 0, 0}};
  const auto all = offers(0, work, network).value();
  const auto seconds = [&](Algorithm algorithm) {
    return std::ranges::find(all, algorithm, &Offer::algorithm)->cost.seconds;
  };
  ASSERT_EQ(seconds(Algorithm::direct), seconds(Algorithm::sharded_hierarchical));
  EXPECT_EQ(choice(all, work).algorithm, Algorithm::direct);
  EXPECT_THAT(choice(all, work).reason, testing::Not(testing::HasSubstr("sharded_hierarchical")));
  const Work of_two{100, 4, {work.devices[0], work.devices[1]}, {0, 0}};
  EXPECT_THAT(
      choice({{Algorithm::ring, {.seconds = 1}}, {Algorithm::direct, {.seconds = 1}}}, of_two)
          .reason,
      testing::Not(testing::HasSubstr("direct")));
}

TEST(Choice, reports_two_devices_without_a_route) {
  topology::Topology drawing = star_of(2, 1);
  drawing.links.clear();
  const topology::Network network(drawing);
  const auto choice = choose(0, {10, 4, network.workers(), {0, 1}}, network);
  ASSERT_FALSE(choice);
  EXPECT_THAT(base::to_string(choice.error()), testing::HasSubstr("cpu0.0"));
}

}  // namespace
}  // namespace trainyard::collective
