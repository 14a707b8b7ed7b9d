// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs of each step: every rank computes the same pairs, and each rank gets its turn.
#include "core/plan/gossip_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace trainyard::plan {
namespace {

std::vector<std::int32_t> first_partners(const GossipPair& pair, int steps) {
  std::vector<std::int32_t> partners;
  for (int step = 0; step < steps; ++step) partners.push_back(pair.partner(step));
  return partners;
}

TEST(GossipPair, depends_only_on_seed_step_and_rank) {
  const GossipPair pair{4, {1, 3, 9}, 7};
  EXPECT_EQ(first_partners(pair, 50), first_partners({4, {1, 3, 9}, 7}, 50));
  EXPECT_NE(first_partners(pair, 50), first_partners({4, {1, 3, 9}, 8}, 50)) << "of the seed";
  EXPECT_NE(first_partners(pair, 50), first_partners({2, {1, 3, 9}, 7}, 50))
      << "of the asking rank";
  EXPECT_EQ(pair.partner(3), pair.passive[pair.choice(3)]);
}

TEST(GossipPair, selects_every_neighbor_equally_often) {
  std::map<std::int32_t, int> asked;
  for (const std::int32_t partner : first_partners({0, {1, 5, 7}, 1}, 6000)) ++asked[partner];
  EXPECT_THAT(asked, testing::UnorderedElementsAre(
                         testing::Pair(1, testing::AllOf(testing::Gt(1850), testing::Lt(2150))),
                         testing::Pair(5, testing::AllOf(testing::Gt(1850), testing::Lt(2150))),
                         testing::Pair(7, testing::AllOf(testing::Gt(1850), testing::Lt(2150)))));
}

TEST(GossipPair, always_selects_the_only_neighbor) {
  EXPECT_THAT(first_partners({2, {6}, 11}, 20), testing::Each(6));
}

}  // namespace
}  // namespace trainyard::plan
