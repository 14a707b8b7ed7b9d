// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/network.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "core/topology/unused_links.h"
#include "tests/core/topology/named_parts.h"

namespace trainyard::topology {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;
using testing::UnorderedElementsAre;

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

// Share of the message that each link carries, by index in the drawing.
std::map<int, double> shares(const Network& network, const Route& route) {
  std::map<int, double> shares;
  for (const Hop& hop : route.hops)
    if (const int link = network.edges()[hop.edge.index()].link; link >= 0)
      shares[link] += static_cast<double>(hop.share) / kFullShare;
  return shares;
}

// Bytes that each link carries of a message.
std::map<int, std::int64_t> bytes(const Network& network, const Route& route,
                                  std::int64_t message) {
  std::map<int, std::int64_t> bytes;
  const auto parts = bytes_of_hops(route, message);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const int link = network.edges()[route.hops[i].edge.index()].link; link >= 0)
      bytes[link] += parts[i];
  return bytes;
}

TEST(network, parallel_links_add_up) {
  for (const bool slow_first : {true, false}) {
    std::vector<Link> links{link("a", "b", 1e9, 9e-6), link("b", "a", 3e9, 5e-6)};
    if (!slow_first) std::swap(links[0], links[1]);
    const Network network({{host("a", {"a0"}), host("b", {"b0"})}, {}, links});
    const auto route = network.route(device(0), device(1)).value();
    EXPECT_NEAR(route.bandwidth_bits_per_second, 4e9, 4e3);
    EXPECT_NEAR(route.latency_seconds, 9e-6 + 2e-6, 1e-15) << "the larger latency, and two buses";
    EXPECT_THAT(shares(network, route),
                UnorderedElementsAre(Pair(slow_first ? 0 : 1, DoubleNear(0.25, 1e-6)),
                                     Pair(slow_first ? 1 : 0, DoubleNear(0.75, 1e-6))));
    EXPECT_THAT(bytes(network, route, 1001),
                UnorderedElementsAre(Pair(slow_first ? 0 : 1, testing::AllOf(Ge(250), Le(251))),
                                     Pair(slow_first ? 1 : 0, testing::AllOf(Ge(750), Le(751)))));
  }
}

TEST(network, prefers_the_most_bandwidth_at_equal_latency_and_hops) {
  for (const bool slow_first : {true, false}) {
    std::vector<Switch> switches{{.name = "slow"}, {.name = "fast"}};
    if (!slow_first) std::swap(switches[0], switches[1]);
    const Network network({{host("a", {"a0"}), host("b", {"b0"})},
                           switches,
                           {link("a", "slow", 1e9), link("slow", "b", 1e9), link("a", "fast", 9e9),
                            link("fast", "b", 8e9)}});
    EXPECT_THAT(walk(network, *network.route(device(0), device(1))),
                ElementsAre("a0", "a", "fast", "b", "b0"));
    EXPECT_THAT(walk(network, *network.route(device(1), device(0))),
                ElementsAre("b0", "b", "fast", "a", "a0"));
  }
}

TEST(network, equal_routes_share_a_message) {
  const Network network({{host("a", {"a0"}), host("b", {"b0"})},
                         {{.name = "s"}, {.name = "t"}, {.name = "u"}},
                         {link("a", "s", 1e9), link("s", "b", 1e9), link("a", "t", 1e9),
                          link("t", "b", 1e9), link("a", "u", 1e9), link("u", "b", 2e9)}});
  const auto route = network.route(device(0), device(1)).value();
  EXPECT_TRUE(route.splits);
  EXPECT_NEAR(route.bandwidth_bits_per_second, 3e9, 1e4);
  for (const auto& [link, share] : shares(network, route))
    EXPECT_NEAR(share, 1.0 / 3, 1e-6) << link;
  const auto carried = bytes(network, route, 1000);
  EXPECT_EQ(carried.at(0) + carried.at(2) + carried.at(4), 1000);
  for (const int first : {0, 2, 4}) EXPECT_EQ(carried.at(first), carried.at(first + 1));
}

// Routes over a narrow link at their end have equal bandwidth, whatever their other links have.
TEST(network, equal_routes_are_the_same_in_both_directions) {
  const Network network({{host("a", {"a0"}), host("b", {"b0"})},
                         {{.name = "s"}, {.name = "t"}, {.name = "u"}},
                         {link("a", "s", 10e9), link("a", "t", 5e9), link("s", "u", 10e9),
                          link("t", "u", 10e9), link("u", "b", 1e9)}});
  const auto there = network.route(device(0), device(1)).value(),
             back = network.route(device(1), device(0)).value();
  EXPECT_THAT(shares(network, there), UnorderedElementsAre(Pair(0, 0.5), Pair(1, 0.5), Pair(2, 0.5),
                                                           Pair(3, 0.5), Pair(4, 1.0)));
  EXPECT_EQ(shares(network, there), shares(network, back));
  EXPECT_DOUBLE_EQ(there.bandwidth_bits_per_second, 1e9);
}

RC_GTEST_PROP(network, route_does_not_depend_on_the_order_of_the_drawing, ()) {
  const int switches = *rc::gen::inRange(1, 5);
  Topology drawing{{host("a", {"a0"}), host("b", {"b0"})}, {}, {}};
  for (int s = 0; s < switches; ++s) drawing.switches.push_back({.name = "s" + std::to_string(s)});
  std::vector<std::string> nodes{"a", "b"};
  for (const Switch& one : drawing.switches) nodes.push_back(one.name);
  drawing.links.push_back(link("a", "b", 1e9, 40e-6));
  for (int l = *rc::gen::inRange(0, 12); l > 0; --l) {
    const std::string from = *rc::gen::elementOf(nodes), to = *rc::gen::elementOf(nodes);
    if (from == to) continue;
    drawing.links.push_back(
        link(from, to, *rc::gen::element(1e9, 2e9), *rc::gen::element(5e-6, 10e-6)));
  }
  Topology shuffled = drawing;
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  std::shuffle(shuffled.links.begin(), shuffled.links.end(), random);
  std::shuffle(shuffled.switches.begin(), shuffled.switches.end(), random);
  const auto of = [](const Topology& topology) {
    const Network network(topology);
    const Route route = network.route(device(0), device(1)).value();
    std::multimap<std::tuple<std::string, std::string, double, double>, int> hops;
    std::int64_t arrived = 0;
    const auto parts = bytes_of_hops(route, 12'345);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Hop& hop = route.hops[i];
      const Edge& edge = network.edges()[hop.edge.index()];
      hops.emplace(std::tuple(hop.forward ? edge.from : edge.to, hop.forward ? edge.to : edge.from,
                              edge.bandwidth_bits_per_second, edge.latency_seconds),
                   hop.share);
      if ((hop.forward ? edge.to : edge.from) == "b0") arrived += parts[i];
    }
    RC_ASSERT(arrived == 12'345);
    return std::tuple(hops, route.latency_seconds);
  };
  RC_ASSERT(of(drawing) == of(shuffled));
}

TEST(UnusedLinks, are_on_no_route_between_ranks) {
  Topology drawing{{host("a", {"a0"}), host("b", {"b0"}), host("c", {"c0"})},
                   {{.name = "s"}},
                   {link("a", "b", 1e9, 5e-6), link("a", "s", 1e9, 5e-6), link("s", "b", 1e9, 5e-6),
                    link("c", "s", 1e9, 5e-6)}};
  EXPECT_THAT(unused_links(Network(drawing)), IsEmpty()) << "a - s is on the way to c";
  drawing.hosts[2].devices[0].role = Role::idle;
  EXPECT_THAT(unused_links(Network(drawing)), ElementsAre(1, 2, 3));
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
