// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/links.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using testing::ElementsAre;

// Two links of 1 Gbit/s and 250 Mbit/s in a row: a - b - c. Edges: buses of a, b and c, then the
// links.
topology::Network chain() {
  topology::Topology drawing;
  for (const char* name : {"a", "b", "c"})
    drawing.hosts.push_back(
        {.name = name, .address = "", .devices = {{.name = std::string(name) + "0"}}});
  drawing.links = {{"a", "b", 1e9, 0}, {"b", "c", 250e6, 0}};
  return topology::Network(drawing);
}
const DirectedLink kWide = 6, kNarrow = 8, kWideBack = 7;

// A route over these directed links.
Path path_over(const std::vector<DirectedLink>& ways) {
  topology::Route route;
  for (const DirectedLink way : ways)
    route.hops.push_back({topology::EdgeId(static_cast<std::size_t>(way / 2)), way % 2 == 0});
  return Path(route);
}

constexpr Picoseconds kMicrosecond = 1'000'000;

// The times at which transfers end, by number.
std::vector<std::pair<int, Picoseconds>> ends(Links& links) {
  std::vector<std::pair<int, Picoseconds>> all;
  Picoseconds now = 0;
  while ((now = links.next_end(now)) < Links::kNever)
    for (const int transfer : links.take_ended(now)) all.emplace_back(transfer, now);
  return all;
}

TEST(links, give_a_single_transfer_the_narrowest_bandwidth) {
  Links links(chain());
  const Path path = path_over({kWide, kNarrow});
  links.start(0, 0, path, 1000, 0);
  EXPECT_THAT(ends(links), ElementsAre(std::pair(0, 32 * kMicrosecond)));
}

TEST(links, redistribute_what_a_narrow_link_cannot_use) {
  Links links(chain());
  const Path both = path_over({kWide, kNarrow}), wide = path_over({kWide});
  links.start(0, 0, both, 1000, 0);  // held to 250 Mbit/s by the narrow link
  links.start(1, 1, wide, 3000, 0);  // so 750 Mbit/s are left
  EXPECT_THAT(ends(links),
              ElementsAre(std::pair(0, 32 * kMicrosecond), std::pair(1, 32 * kMicrosecond)));
}

TEST(links, send_transfers_of_one_lane_one_after_the_other) {
  Links links(chain());
  const Path wide = path_over({kWide});
  links.start(0, 5, wide, 2000, 0);
  links.start(1, 5, wide, 2000, 0);  // waits, although it would share the link on another lane
  EXPECT_THAT(ends(links),
              ElementsAre(std::pair(0, 16 * kMicrosecond), std::pair(1, 32 * kMicrosecond)));
  EXPECT_EQ(links.bytes(kWide), 4000);
  EXPECT_EQ(links.busy(kWide), 32 * kMicrosecond);
}

TEST(links, change_rates_when_a_transfer_starts_or_ends) {
  Links links(chain());
  const Path wide = path_over({kWide});
  links.start(0, 0, wide, 2000, 0);  // 16 us alone
  ASSERT_EQ(links.next_end(0), 16 * kMicrosecond);
  links.start(1, 1, wide, 500, 8 * kMicrosecond);  // 1000 B of the first are left, at half the rate
                                                   // while the second crosses: 8 us
  ASSERT_EQ(links.next_end(8 * kMicrosecond), 16 * kMicrosecond);
  EXPECT_THAT(links.take_ended(16 * kMicrosecond), ElementsAre(1));
  EXPECT_EQ(links.next_end(16 * kMicrosecond), 20 * kMicrosecond);
  EXPECT_THAT(links.take_ended(20 * kMicrosecond), ElementsAre(0));
  EXPECT_EQ(links.next_end(20 * kMicrosecond), Links::kNever);
  EXPECT_EQ(links.bytes(kWide), 2500);
  EXPECT_EQ(links.busy(kWide), 20 * kMicrosecond);
}

TEST(links, do_not_count_the_reverse_direction) {
  Links links(chain());
  const Path there = path_over({kWide}), back = path_over({kWideBack});
  links.start(0, 0, there, 1000, 0);
  links.start(1, 1, back, 1000, 0);
  EXPECT_THAT(ends(links),
              ElementsAre(std::pair(0, 8 * kMicrosecond), std::pair(1, 8 * kMicrosecond)));
}

TEST(links, transfer_zero_bytes_in_zero_time) {
  Links links(chain());
  const Path wide = path_over({kWide});
  links.start(0, 0, wide, 0, 5);
  EXPECT_EQ(links.next_end(5), 5);
  EXPECT_THAT(links.take_ended(5), ElementsAre(0));
  EXPECT_EQ(links.busy(kWide), 0);
}

TEST(links, reuse_transfer_numbers) {
  Links links(chain());
  const Path wide = path_over({kWide});
  links.start(0, 0, wide, 1000, 0);
  ASSERT_EQ(links.next_end(0), 8 * kMicrosecond);
  ASSERT_THAT(links.take_ended(8 * kMicrosecond), ElementsAre(0));
  links.start(0, 0, wide, 1000, 8 * kMicrosecond);
  EXPECT_EQ(links.next_end(8 * kMicrosecond), 16 * kMicrosecond);
}

// 1 and 3 Gbit/s in parallel: a message is split 1 : 3, so both links end together.
TEST(links, split_a_message_over_parallel_links) {
  topology::Topology drawing;
  for (const char* name : {"a", "b"})
    drawing.hosts.push_back(
        {.name = name, .address = "", .devices = {{.name = std::string(name) + "0"}}});
  drawing.links = {{"a", "b", 1e9, 0}, {"a", "b", 3e9, 0}};
  const topology::Network network(drawing);
  const Path path(network.route(topology::DeviceId(0), topology::DeviceId(1)).value());
  Links links(network);
  links.start(0, 0, path, 4000, 0);
  const auto ended = ends(links);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_NEAR(static_cast<double>(ended[0].second), 8.0 * kMicrosecond, 100.0);
  const DirectedLink slow = 4, fast = 6;
  EXPECT_NEAR(static_cast<double>(links.bytes(slow)), 1000, 1);
  EXPECT_EQ(links.bytes(slow) + links.bytes(fast), 4000);
  EXPECT_EQ(links.busy(slow), links.busy(fast));
}

TEST(links, never_exceed_their_bandwidth) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const topology::Network network(star({.hosts = 6}));
    Links links(network);
    const auto workers = network.workers();
    std::vector<Path> paths;
    for (int i = 0; i < 40; ++i) {
      const std::size_t from = random() % 6, to = (from + 1 + random() % 5) % 6;
      paths.emplace_back(network.route(workers[from], workers[to]).value());
    }
    for (int i = 0; i < 40; ++i)
      links.start(i, i, paths[static_cast<std::size_t>(i)],
                  1 + static_cast<std::int64_t>(random() % 100'000), 0);
    const Picoseconds end = ends(links).back().second;
    for (DirectedLink w = 0; w < links.ways(); ++w) {
      const double needs =
          static_cast<double>(links.bytes(w)) * 8 /
          network.edges()[static_cast<std::size_t>(w / 2)].bandwidth_bits_per_second;
      EXPECT_LE(needs, seconds(links.busy(w)) * (1 + 1e-9));
      EXPECT_LE(links.busy(w), end);
    }
  }
}

}  // namespace
}  // namespace trainyard::sim
