// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/kept_shards.h"

#include <gtest/gtest.h>

#include "tests/drawings.h"
#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

std::vector<KeptShard> of(int hosts, int devices, const experiment::FsdpSpec& fsdp,
                          experiment::OptimizerSpec optimizer = {}) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(hosts, devices);
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp = fsdp;
  e.training.optimizer = optimizer;
  const auto resolved = experiment::resolve(e, "");
  EXPECT_TRUE(resolved) << base::to_string(resolved.error());
  return resolved ? kept_shards(*resolved) : std::vector<KeptShard>();
}

const experiment::OptimizerSpec kAdam{.kind = experiment::OptimizerKind::adam};

TEST(KeptShards, are_quarters_with_four_ranks) {
  const auto kept = of(1, 4, {}, kAdam);
  ASSERT_EQ(kept.size(), 4u);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(kept[static_cast<std::size_t>(rank)], (KeptShard{rank, 4, true, true, true}));
  EXPECT_THAT(kept_text(kept[2]), test::HasAll("1/4 of parameters, gradients and moments"));
}

TEST(KeptShards, include_full_unsharded_values) {
  EXPECT_THAT(kept_text(of(1, 2, {.shard = experiment::Shard::gradients}, kAdam)[0]),
              test::HasAll("1/2 of gradients and moments", "all of parameters"));
  EXPECT_THAT(kept_text(of(1, 2, {.shard = experiment::Shard::optimizer}, kAdam)[1]),
              test::HasAll("1/2 of moments", "all of parameters and gradients"));
}

TEST(KeptShards, omit_moments_of_an_optimizer_without_moments) {
  const experiment::OptimizerSpec plain{.kind = experiment::OptimizerKind::sgd, .momentum = 0};
  EXPECT_THAT(kept_text(of(1, 2, {}, plain)[0]), test::HasAll("1/2 of parameters and gradients"));
  EXPECT_THAT(kept_text(of(1, 2, {.shard = experiment::Shard::optimizer}, plain)[0]),
              test::HasAll("all of parameters and gradients"));
}

TEST(KeptShards, with_host_groups_are_shards_of_the_ranks_of_a_host) {
  const auto kept = of(2, 2, {.group = experiment::ShardGroup::host}, kAdam);
  ASSERT_EQ(kept.size(), 4u);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(kept[static_cast<std::size_t>(rank)].part, rank % 2);
    EXPECT_EQ(kept[static_cast<std::size_t>(rank)].parts, 2);
  }
}

// Replicas hold shards of their stage's model.
TEST(KeptShards, divide_stages_among_replicas_of_a_mesh) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(1, 6);
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {.data = 3, .pipeline = 2, .tensor = 1, .shards_data = true};
  const auto kept = kept_shards(experiment::resolve(e, "").value());
  ASSERT_EQ(kept.size(), 6u);
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(kept[static_cast<std::size_t>(rank)].part, rank % 3);
    EXPECT_EQ(kept[static_cast<std::size_t>(rank)].parts, 3);
    EXPECT_TRUE(kept[static_cast<std::size_t>(rank)].parameters);
  }
}

TEST(KeptShards, other_strategies_shard_nothing) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(1, 4);
  EXPECT_TRUE(kept_shards(experiment::resolve(e, "").value()).empty());
}

}  // namespace
}  // namespace trainyard::ui
