// SPDX-License-Identifier: GPL-3.0-or-later
// Memory and traffic of fsdp plans, against the formulas (Rajbhandari et al. 2020).
#include "core/experiment/fsdp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/sent_bytes.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using experiment::Experiment;
using experiment::Shard;
using testing::HasSubstr;

// 10 units of 65 x 64 and one of 5 x 65 elements.
Experiment deep(int ranks, Shard shard) {
  Experiment e = small(ranks);
  e.data.features = 64;
  e.model.layers.clear();
  for (int layer = 0; layer < 10; ++layer) e.model.layers.push_back({model::LayerKind::linear, 64});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp.shard = shard;
  e.strategy.bucket_bytes = 1;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  return e;
}

std::int64_t elements_of(const plan::RankPlan& rank, const std::string& buffer) {
  const plan::BufferId id = rank.buffer(buffer);
  return id.valid() ? rank.buffers[id.index()].elements : 0;
}

constexpr std::int64_t kUnit = 65 * 64, kModel = 10 * kUnit + 5 * 65;

TEST(Fsdp, keeps_1_nth_of_parameters_gradients_and_moments_plus_a_few_units) {
  for (const int n : {2, 3, 8})
    for (const std::int64_t prefetch : {0, 1, 3}) {
      Experiment e = deep(n, Shard::full);
      e.strategy.fsdp.prefetch = prefetch;
      const plan::Plan plan = fsdp(resolved(e)).value();
      for (std::int32_t r = 0; r < n; ++r) {
        const plan::RankPlan rank = plan.rank_plan(r);
        std::int64_t resident = 0;
        for (const char* buffer : {"shard", "grad_shard", "moment1", "moment2"})
          resident += elements_of(rank, buffer);
        EXPECT_NEAR(static_cast<double>(resident), 4.0 * kModel / n, 0.02 * 4 * kModel / n);
        EXPECT_EQ(elements_of(rank, "params"), (prefetch + 1) * kUnit);
        EXPECT_EQ(elements_of(rank, "grads"), 2 * kUnit);
      }
    }
}

TEST(Fsdp, keeps_unsharded_state_in_full) {
  const plan::RankPlan gradients = fsdp(resolved(deep(4, Shard::gradients))).value().rank_plan(0),
                       optimizer = fsdp(resolved(deep(4, Shard::optimizer))).value().rank_plan(0);
  EXPECT_EQ(elements_of(gradients, "params"), kModel);
  EXPECT_EQ(elements_of(gradients, "grads"), 2 * kUnit);
  EXPECT_EQ(elements_of(optimizer, "params"), kModel);
  EXPECT_EQ(elements_of(optimizer, "grads"), kModel);
  for (const plan::RankPlan& rank : {gradients, optimizer})
    EXPECT_NEAR(static_cast<double>(elements_of(rank, "moment2")), kModel / 4.0, 8);
}

// Payload of a step, all ranks together.
std::int64_t bytes_of(const Experiment& e, const std::string& program) {
  const plan::Plan plan = make_plan(resolved(e)).value();
  std::int64_t bytes = 0;
  for (std::int32_t r = 0; r < plan.ranks; ++r) {
    const plan::RankPlan rank = plan.rank_plan(r);
    bytes += collective::sent_bytes(rank, program_of(rank, program));
  }
  return bytes;
}

// S of fp32, and three numbers of 8 bytes a segment.
TEST(Fsdp, sends_the_bytes_of_the_formula) {
  const std::int64_t s = 4 * kModel, metric_bytes = 11 * 3 * 8;
  for (const int n : {2, 3, 4, 8}) {
    EXPECT_EQ(bytes_of(deep(n, Shard::full), "train"), (n - 1) * (3 * s + 2 * metric_bytes));
    EXPECT_EQ(bytes_of(deep(n, Shard::gradients), "train"), (n - 1) * (2 * s + 2 * metric_bytes));
    EXPECT_EQ(bytes_of(deep(n, Shard::optimizer), "train"), (n - 1) * (2 * s + 2 * metric_bytes));
    Experiment kept = deep(n, Shard::full);
    kept.strategy.fsdp.reshard_after_forward = false;
    EXPECT_EQ(bytes_of(kept, "train"), (n - 1) * (2 * s + 2 * metric_bytes));
    EXPECT_EQ(bytes_of(kept, "evaluate_tail"), (n - 1) * s);
    Experiment steps = deep(n, Shard::full);
    steps.training.batch_per_rank = 4;
    steps.training.accumulation_steps = 3;
    EXPECT_EQ(bytes_of(steps, "train"), (n - 1) * (9 * s + 2 * metric_bytes));
    steps.strategy.fsdp.shard = Shard::optimizer;
    EXPECT_EQ(bytes_of(steps, "train"), (n - 1) * (2 * s + 2 * metric_bytes));
  }
}

// Two hosts of two: within each what two send, and across for every part what two of half of it do.
TEST(Fsdp, with_hybrid_sharding_sums_shards_across_hosts) {
  Experiment e = deep(4, Shard::full);
  e.topology = tests::drawn_hosts(2, 2);
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  const std::int64_t s = 4 * kModel, metric_bytes = 11 * 3 * 8;
  EXPECT_EQ(bytes_of(e, "train"), 2 * (3 * s + 2 * metric_bytes) + 2 * s);
}

TEST(Fsdp, of_a_full_run_has_the_bytes_computed_without_a_plan) {
  for (const Shard shard : {Shard::full, Shard::gradients, Shard::optimizer})
    for (const int hosts : {1, 2})
      for (const double clip : {0.0, 1.0}) {
        Experiment e = deep(4, shard);
        e.topology = tests::drawn_hosts(hosts, 4 / hosts);
        e.strategy.fsdp.group = experiment::ShardGroup::host;
        e.training.clip_norm = clip;
        e.training.accumulation_steps = 2;
        e.training.batch_per_rank = 5;
        const experiment::Resolved r = resolved(e);
        const plan::Plan plan = make_plan(r).value();
        const auto text = experiment::sent_bytes(r);
        ASSERT_TRUE(text);
        for (std::int32_t number = 0; number < plan.ranks; ++number) {
          const plan::RankPlan rank = plan.rank_plan(number);
          std::int64_t bytes = 0;
          for (std::int64_t step = 0; step < r.steps; ++step) {
            bytes += collective::sent_bytes(rank, program_of(rank, plan.schedule.program(step)));
            for (const char* name : {"evaluate", "evaluate_tail"})
              if (plan.schedule.evaluates_after(step) && rank.program(name) >= 0)
                bytes += program_of(rank, name).repeats *
                         collective::sent_bytes(rank, program_of(rank, name));
          }
          EXPECT_EQ(text->at(static_cast<std::size_t>(number)), bytes) << "rank " << number;
        }
      }
}

TEST(Fsdp, prefetches_units) {
  Experiment e = small(2);
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.bucket_bytes = 1;
  const plan::RankPlan rank = fsdp(resolved(e)).value().rank_plan(0);
  EXPECT_EQ(on_lane(rank, "train", "comm.g0"),
            "AG.b2 AG.b1 AG.b0 AG.b3 AG.b4 RS.b6 AG.b5 RS.b7 RS.b8 AR.b13");
}

TEST(Fsdp, of_one_rank_shards_nothing) {
  const plan::RankPlan rank = fsdp(resolved(deep(1, Shard::full))).value().rank_plan(0);
  EXPECT_FALSE(rank.buffer("shard").valid());
  EXPECT_EQ(elements_of(rank, "params"), kModel);
}

base::Problems problems_of(const Experiment& e) { return experiment::validate(e, "."); }

TEST(Fsdp, that_is_invalid_is_refused) {
  Experiment uneven = deep(3, Shard::full);
  uneven.topology = tests::drawn_hosts(2, 2);
  uneven.topology.hosts[1].devices[1].role = topology::Role::idle;
  uneven.strategy.fsdp.group = experiment::ShardGroup::host;
  ASSERT_EQ(problems_of(uneven).size(), 1u);
  EXPECT_EQ(problems_of(uneven)[0].where, "strategy.fsdp.group");
  EXPECT_EQ(problems_of(uneven)[0].id, "fsdp_group_not_even");

  Experiment single = uneven;
  single.topology = tests::drawn_hosts(3, 1);
  ASSERT_EQ(problems_of(single).size(), 1u);
  EXPECT_EQ(problems_of(single)[0].id, "fsdp_group_not_even");

  Experiment compressed = deep(2, Shard::full);
  compressed.strategy.compression.kind = compute::compression::Scheme::fp16;
  ASSERT_EQ(problems_of(compressed).size(), 1u);
  EXPECT_EQ(problems_of(compressed)[0].where, "strategy.compression.kind");

  Experiment tree = deep(2, Shard::full);
  tree.strategy.algorithm = collective::Algorithm::binary_tree;
  ASSERT_EQ(problems_of(tree).size(), 1u);
  EXPECT_EQ(problems_of(tree)[0].where, "strategy.algorithm");

  Experiment columns = deep(2, Shard::full);
  columns.data.sharding.kind = data::ShardingKind::vertical;
  ASSERT_FALSE(problems_of(columns).empty());
  EXPECT_EQ(problems_of(columns)[0].where, "data.sharding.kind");
}

}  // namespace
}  // namespace trainyard::strategy
