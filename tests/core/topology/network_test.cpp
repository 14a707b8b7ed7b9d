// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/network.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/core/topology/named_parts.h"

namespace trainyard::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceId device(int index) { return DeviceId(index); }

// The names along a route, both ends included.
std::vector<std::string> walk(const Network& network, const Route& route) {
  std::vector<std::string> names;
  for (const Hop& hop : route.hops) {
    const Edge& edge = network.edges()[hop.edge.index()];
    const std::string from = hop.forward ? edge.from : edge.to;
    if (names.empty()) names.push_back(from);
    EXPECT_EQ(names.back(), from) << "a hop starts where the last one ended";
    names.push_back(hop.forward ? edge.to : edge.from);
  }
  return names;
}

TEST(network, connects_devices_of_one_host_by_its_bus) {
  const Network network({{host("h", {"d0", "d1"})}, {}, {}});
  const auto route = network.route(device(0), device(1));
  ASSERT_TRUE(route);
  EXPECT_THAT(walk(network, *route), ElementsAre("d0", "h", "d1"));
  EXPECT_DOUBLE_EQ(route->latency_seconds, 2e-6);
  EXPECT_DOUBLE_EQ(route->bandwidth_bits_per_second, 80e9);
}

TEST(network, prefers_a_faster_link_to_the_bus) {
  const Network network({{host("h", {"d0", "d1"})}, {}, {link("d1", "d0", 400e9, 1e-6)}});
  const auto route = network.route(device(0), device(1));
  ASSERT_TRUE(route);
  EXPECT_THAT(walk(network, *route), ElementsAre("d0", "d1"));
  EXPECT_FALSE(route->hops[0].forward);
  EXPECT_DOUBLE_EQ(route->bandwidth_bits_per_second, 400e9);
  EXPECT_EQ(network.edges()[route->hops[0].edge.index()].link, 0);
}

TEST(network, route_over_a_switch_has_the_narrowest_bandwidth_and_total_latency) {
  const Network network({{host("a", {"a0"}), host("b", {"b0"})},
                         {{.name = "s"}},
                         {link("a", "s", 10e9, 5e-6), link("b", "s", 1e9, 7e-6)}});
  const auto route = network.route(device(0), device(1));
  ASSERT_TRUE(route);
  EXPECT_THAT(walk(network, *route), ElementsAre("a0", "a", "s", "b", "b0"));
  EXPECT_DOUBLE_EQ(route->bandwidth_bits_per_second, 1e9);
  EXPECT_NEAR(route->latency_seconds, 1e-6 + 5e-6 + 7e-6 + 1e-6, 1e-15);
}

TEST(network, prefers_the_least_latency_to_the_fewest_hops) {
  const Network network(
      {{host("a", {"a0"}), host("b", {"b0"})},
       {{.name = "s"}},
       {link("a", "b", 10e9, 50e-6), link("a", "s", 10e9, 5e-6), link("s", "b", 10e9, 5e-6)}});
  EXPECT_THAT(walk(network, *network.route(device(0), device(1))),
              ElementsAre("a0", "a", "s", "b", "b0"));
}

TEST(network, prefers_the_fewest_hops_at_equal_latency) {
  Host a = host("a", {"a0"}), b = host("b", {"b0"});
  a.bus_latency_seconds = b.bus_latency_seconds =
      0;  // sums of binary fractions are equal to the last bit
  const Network network(
      {{a, b},
       {{.name = "s"}},
       {link("a", "s", 10e9, 0.25), link("s", "b", 10e9, 0.25), link("a", "b", 10e9, 0.5)}});
  EXPECT_THAT(walk(network, *network.route(device(0), device(1))),
              ElementsAre("a0", "a", "b", "b0"));
}

TEST(network, treats_latencies_within_rounding_as_equal) {
  // 5e-6 + 7e-6 + 1.5e-6 and 13.5e-6 differ in the last bit as sums of doubles.
  Host a = host("a", {"a0"}), b = host("b", {"b0"});
  const std::vector<Switch> switches{{.name = "s"}, {.name = "t"}};
  for (const double straight : {13.5e-6, std::nextafter(13.5e-6, 1.0)}) {
    const Network network({{a, b},
                           switches,
                           {link("a", "s", 10e9, 5e-6), link("s", "t", 10e9, 7e-6),
                            link("t", "b", 10e9, 1.5e-6), link("a", "b", 10e9, straight)}});
    EXPECT_THAT(walk(network, *network.route(device(0), device(1))),
                ElementsAre("a0", "a", "b", "b0"))
        << straight;
  }
}

TEST(network, route_to_the_same_device_takes_no_time) {
  const Network network({{host("a", {"a0"})}, {}, {}});
  const auto route = network.route(device(0), device(0));
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->hops.empty());
  EXPECT_EQ(route->latency_seconds, 0);
  EXPECT_EQ(route->bandwidth_bits_per_second, std::numeric_limits<double>::infinity());
}

TEST(network, reports_both_devices_without_a_route) {
  const Network network(
      {{host("a", {"a0"}), host("b", {"b0"})}, {{.name = "s"}}, {link("a", "s")}});
  const auto route = network.route(device(0), device(1));
  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().id, "no_route");
  EXPECT_EQ(route.error().code, base::ProblemCode::bad_input);
}

TEST(network, accepts_cycles) {
  const Network network({{host("a", {"a0"}), host("b", {"b0"}), host("c", {"c0"})},
                         {},
                         {link("a", "b"), link("b", "c"), link("c", "a")}});
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      if (from != to) {
        EXPECT_EQ(network.route(device(from), device(to))->hops.size(), 3U);
      }
}

TEST(network, numbers_workers_in_drawing_order_without_idle_devices) {
  Topology drawing{{host("a", {"a0", "a1"}), host("b", {"b0"})}, {}, {link("a", "b")}};
  drawing.hosts[0].devices[0].role = Role::idle;
  const Network network(drawing);
  EXPECT_THAT(network.workers(), ElementsAre(device(1), device(2)));
  EXPECT_EQ(network.device(device(2)).name, "b0");
  EXPECT_EQ(network.host(device(2)).name, "b");
  EXPECT_EQ(network.host_index(device(2)), 1);
}

}  // namespace
}  // namespace trainyard::topology
