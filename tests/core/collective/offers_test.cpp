// SPDX-License-Identifier: GPL-3.0-or-later
// All algorithms beside each other, and who sends to whom in each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/collective/cost.h"
#include "tests/core/collective/one_bucket.h"
#include "tests/drawings.h"

namespace trainyard::collective {
namespace {

struct Drawn {
  explicit Drawn(const topology::Topology& drawing, std::int64_t elements = 1003)
      : network(drawing), work{elements, 4, network.workers(), {}} {
    for (const topology::DeviceId device : work.devices)
      work.hosts.push_back(network.host_index(device));
  }
  topology::Network network;
  Work work;
};

const Offer& offer_of(const std::vector<Offer>& all, Algorithm algorithm) {
  return *std::ranges::find(all, algorithm, &Offer::algorithm);
}

// Two hosts, of two devices and of one.
topology::Topology uneven() {
  topology::Topology drawing = tests::drawn_hosts(2, 2);
  drawing.hosts[1].devices.pop_back();
  return drawing;
}

TEST(Offers, list_the_cost_of_every_algorithm_in_order) {
  for (const auto& [hosts, devices] : {std::pair{1, 2}, {2, 3}, {4, 2}}) {
    const Drawn drawn(tests::drawn_hosts(hosts, devices));
    const auto all = offers(100, drawn.work, drawn.network).value();
    ASSERT_EQ(all.size(), std::size(kAlgorithms));
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].algorithm, kAlgorithms[i]);
      EXPECT_EQ(all[i].unfit_reason, "");
      EXPECT_EQ(all[i].cost, cost(kAlgorithms[i], 100, drawn.work, drawn.network).value());
    }
  }
}

TEST(Offers, give_the_reason_if_an_algorithm_does_not_fit) {
  const Drawn drawn(uneven());
  const auto all = offers(0, drawn.work, drawn.network).value();
  for (const Offer& offer : all) {
    EXPECT_EQ(offer.unfit_reason.empty(), offer.algorithm != Algorithm::sharded_hierarchical)
        << base::name_of(offer.algorithm);
    EXPECT_EQ(offer.unfit_reason.starts_with(base::name_of(offer.algorithm)),
              !offer.unfit_reason.empty());
  }
}

TEST(Offers, must_fit_all_groups_with_the_algorithm) {
  Drawn drawn(tests::drawn_hosts(2, 2));
  drawn.work.concurrent_groups = {{0, 0, 1, 1}, {0, 1}};
  const auto even = offers(0, drawn.work, drawn.network).value();
  for (const Offer& offer : even)
    EXPECT_EQ(offer.unfit_reason, "") << base::name_of(offer.algorithm);
  drawn.work.concurrent_groups.push_back({0, 0, 1});
  const auto uneven_too = offers(0, drawn.work, drawn.network).value();
  for (const Offer& offer : uneven_too)
    EXPECT_EQ(offer.unfit_reason.empty(), offer.algorithm != Algorithm::sharded_hierarchical)
        << base::name_of(offer.algorithm);
}

TEST(Offers, are_canceled_when_not_needed) {
  const Drawn drawn(tests::drawn_hosts(1, 4));
  std::stop_source stop;
  stop.request_stop();
  const auto all = offers(0, drawn.work, drawn.network, stop.get_token());
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, base::ProblemCode::canceled);
}

TEST(Offers, choice_is_the_fastest_algorithm) {
  for (const std::int64_t elements : {1, 1000, 10'000'000}) {
    const Drawn drawn(tests::drawn_hosts(2, 4), elements);
    const auto all = offers(0, drawn.work, drawn.network).value();
    const Choice chosen = choice(all, drawn.work);
    for (const Offer& offer : all)
      EXPECT_GE(offer.cost.seconds, offer_of(all, chosen.algorithm).cost.seconds)
          << base::name_of(offer.algorithm);
    EXPECT_EQ(chosen.reason, choose(0, drawn.work, drawn.network)->reason);
  }
}

TEST(Offers, choice_never_is_an_algorithm_that_does_not_fit) {
  topology::Topology drawing = uneven();
  for (topology::Link& link : drawing.links) link.bandwidth_bits_per_second = 1e5;
  const Drawn drawn(drawing, 1'000'000);
  EXPECT_NE(choose(0, drawn.work, drawn.network)->algorithm, Algorithm::sharded_hierarchical);
}

TEST(Flows, add_up_to_the_estimated_bytes_with_and_without_segments) {
  for (const auto& [hosts, devices] : {std::pair{1, 2}, {1, 5}, {3, 1}, {2, 3}, {3, 3}, {4, 2}})
    for (const std::int64_t segment_bytes : {0, 100, 1000})
      for (const Algorithm algorithm : kAlgorithms) {
        const Drawn drawn(tests::drawn_hosts(hosts, devices));
        std::map<int, std::int64_t> sent;
        std::int64_t total = 0;
        for (const Flow& flow : flows(algorithm, segment_bytes, drawn.work))
          sent[flow.from] += flow.bytes, total += flow.bytes;
        const Cost known = cost(algorithm, segment_bytes, drawn.work, drawn.network).value();
        EXPECT_EQ(total, known.total_bytes) << base::name_of(algorithm);
        EXPECT_EQ(
            std::ranges::max_element(sent, {}, [](const auto& one) { return one.second; })->second,
            known.busiest_bytes)
            << base::name_of(algorithm);
      }
}

using Pair = std::pair<int, int>;
std::set<Pair> pairs(Algorithm algorithm, const topology::Topology& drawing) {
  std::set<Pair> all;
  for (const Flow& flow : flows(algorithm, 0, Drawn(drawing).work))
    EXPECT_TRUE(all.emplace(flow.from, flow.to).second) << "a pair has one flow";
  return all;
}

TEST(Flows, of_a_ring_go_to_the_next_rank_only) {
  EXPECT_THAT(pairs(Algorithm::ring, tests::drawn_hosts(1, 4)),
              testing::ElementsAre(Pair{0, 1}, Pair{1, 2}, Pair{2, 3}, Pair{3, 0}));
}

TEST(Flows, of_a_star_go_to_and_from_its_center) {
  for (const auto& [from, to] : pairs(Algorithm::star, tests::drawn_hosts(1, 5)))
    EXPECT_EQ(std::min(from, to), 0);
}

TEST(Flows, of_a_tree_go_up_and_down_one_edge_for_all_but_the_root) {
  const auto all = pairs(Algorithm::binary_tree, tests::drawn_hosts(1, 9));
  EXPECT_EQ(all.size(), 2u * 8);
  for (const auto& [from, to] : all) EXPECT_TRUE(all.contains({to, from}));
}

TEST(Flows, of_a_torus_go_along_rows_and_columns) {
  for (const auto& [from, to] : pairs(Algorithm::torus, tests::drawn_hosts(3, 4)))
    EXPECT_TRUE(from / 4 == to / 4 || from % 4 == to % 4) << from << " " << to;
}

TEST(Flows, of_leaders_connect_hosts_through_leaders_only) {
  for (const auto& [from, to] : pairs(Algorithm::leader_hierarchical, tests::drawn_hosts(3, 3)))
    EXPECT_TRUE(from / 3 == to / 3 || (from % 3 == 0 && to % 3 == 0)) << from << " " << to;
}

}  // namespace
}  // namespace trainyard::collective
