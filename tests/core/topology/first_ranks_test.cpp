// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/topology/first_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/topology/network.h"
#include "tests/drawings.h"

namespace trainyard::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const auto& things) {
  std::vector<std::string> all;
  for (const auto& thing : things) all.push_back(thing.name);
  return all;
}

// The route of each pair of the first ranks, by the names that it passes.
std::vector<std::vector<std::string>> routes(const Topology& drawing, std::size_t ranks) {
  const Network network(drawing);
  const auto workers = network.workers();
  std::vector<std::vector<std::string>> all;
  for (std::size_t a = 0; a < ranks; ++a)
    for (std::size_t b = 0; b < ranks; ++b) {
      auto& passed = all.emplace_back();
      const auto found = network.route(workers[a], workers[b]);
      for (const Hop& hop : found.value().hops) {
        const Edge& edge = network.edges()[hop.edge.index()];
        passed.push_back(hop.forward ? edge.from + ">" + edge.to : edge.to + ">" + edge.from);
      }
    }
  return all;
}

TEST(FirstRanks, of_one_host_are_its_first_devices) {
  const Topology cut = first_ranks(tests::drawn_hosts(1, 4), 2);
  ASSERT_EQ(cut.hosts.size(), 1u);
  EXPECT_THAT(names(cut.hosts[0].devices), ElementsAre("cpu0", "cpu1"));
}

TEST(FirstRanks, exclude_empty_hosts_and_their_links) {
  const Topology cut = first_ranks(tests::drawn_hosts(4, 2), 4);
  EXPECT_THAT(names(cut.hosts), ElementsAre("host0", "host1"));
  EXPECT_THAT(names(cut.switches), ElementsAre("switch"));
  EXPECT_EQ(cut.links.size(), 2u);
}

TEST(FirstRanks, of_one_host_need_no_switch) {
  const Topology cut = first_ranks(tests::drawn_hosts(4, 2), 2);
  EXPECT_THAT(names(cut.hosts), ElementsAre("host0"));
  EXPECT_THAT(cut.switches, IsEmpty());
  EXPECT_THAT(cut.links, IsEmpty());
}

TEST(FirstRanks, count_workers_only_and_exclude_idle_devices) {
  Topology drawn = tests::drawn_hosts(1, 4);
  drawn.hosts[0].devices[1].role = Role::idle;
  const Topology cut = first_ranks(drawn, 2);
  EXPECT_THAT(names(cut.hosts[0].devices), ElementsAre("cpu0", "cpu2"));
}

// host0 - host2 - host1: what lies between the first two ranks stays, though its own rank is the
// third.
TEST(FirstRanks, keep_a_host_that_connects_them) {
  Topology drawn;
  for (int h = 0; h < 3; ++h)
    drawn.hosts.push_back(tests::drawn_host("host" + std::to_string(h), 1, h));
  drawn.links = {{"host0", "host2"}, {"host2", "host1"}};
  const Topology cut = first_ranks(drawn, 2);
  EXPECT_THAT(names(cut.hosts), ElementsAre("host0", "host1", "host2"));
  EXPECT_THAT(cut.hosts[2].devices, IsEmpty());
  EXPECT_EQ(routes(cut, 2), routes(drawn, 2));
}

// Devices linked in a row: the way from the first to the last over the one between is quicker than
// the slow bus.
TEST(FirstRanks, keep_a_device_that_connects_them_as_idle) {
  Topology drawn = tests::drawn_hosts(1, 3);
  drawn.hosts[0].bus_latency_seconds = 1;
  std::swap(drawn.hosts[0].devices[1],
            drawn.hosts[0].devices[2]);  // rank 1 is cpu2, rank 2 is cpu1
  drawn.links = {{"cpu0", "cpu1"}, {"cpu1", "cpu2"}};
  const Topology cut = first_ranks(drawn, 2);
  EXPECT_THAT(names(cut.hosts[0].devices), ElementsAre("cpu0", "cpu2", "cpu1"));
  EXPECT_EQ(cut.hosts[0].devices[2].role, Role::idle);
  EXPECT_EQ(routes(cut, 2), routes(drawn, 2));
}

TEST(FirstRanks, keep_their_routes_for_any_number) {
  const Topology drawn = tests::drawn_hosts(5, 3);
  for (std::size_t ranks = 1; ranks <= 15; ++ranks) {
    const Topology cut = first_ranks(drawn, static_cast<std::int64_t>(ranks));
    EXPECT_THAT(validate(cut, "topology"), IsEmpty());
    EXPECT_EQ(Network(cut).workers().size(), ranks);
    EXPECT_EQ(routes(cut, ranks), routes(drawn, ranks)) << ranks;
  }
}

TEST(FirstRanks, of_all_ranks_are_the_full_drawing) {
  EXPECT_EQ(first_ranks(tests::drawn_hosts(3, 2), 6), tests::drawn_hosts(3, 2));
}

}  // namespace
}  // namespace trainyard::topology
