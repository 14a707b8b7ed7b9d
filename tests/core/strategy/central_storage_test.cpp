// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>

#include "core/strategy/edit.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/rank_plans.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

experiment::Experiment central(int devices, int storage = 0) {
  auto e = small(devices);
  e.topology = tests::drawn_storage(devices, storage);
  e.strategy.kind = experiment::StrategyKind::central_storage;
  return e;
}

TEST(CentralStorage, devices_compute_and_send_their_gradients) {
  const plan::RankPlan device = rank_of(central(3), 2);
  EXPECT_EQ(on_lane(device, "train", "compute"),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0");
  EXPECT_EQ(on_lane(device, "train", "comm.g0"), "REDUCE.b0>r0 REDUCE.b1>r0");
  EXPECT_EQ(on_lane(device, "train", "comm.g1"), "BCAST.b0<r0 BCAST.b1<r0");
  for (const char* name : {"moment1", "statistics"})
    EXPECT_FALSE(device.buffer(name).valid()) << name;
}

TEST(CentralStorage, storage_takes_no_samples_and_updates) {
  const plan::RankPlan storage = rank_of(central(3), 0);
  EXPECT_EQ(on_lane(storage, "train", "compute"),
            "RATE ZERO.s2 ZERO.s1 ZERO.s0 UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(on_lane(storage, "train", "input"), "");
  for (const char* name : {"input", "labels", "act.s0", "grad.s0"})
    EXPECT_FALSE(storage.buffer(name).valid()) << name;
  for (const char* name : {"params", "grads", "moment1"})
    EXPECT_TRUE(storage.buffer(name).valid()) << name;
  EXPECT_EQ(storage.program("evaluate"), -1);
  EXPECT_EQ(program_of(storage, "train").samples, 0);
}

TEST(CentralStorage, devices_share_all_samples) {
  const auto r = resolved(central(3, 1));  // 250 samples: 10 steps of 24 and a tail of 10
  EXPECT_EQ(r.global_batch, 24);
  EXPECT_EQ(r.steps_per_epoch, 11);
  const plan::Plan plan = make_plan(r).value();
  const std::int64_t tail[] = {4, 0, 3, 3};
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(program_of(plan.rank_plan(rank), "train").samples, rank == 1 ? 0 : 8);
    EXPECT_EQ(program_of(plan.rank_plan(rank), "tail").samples, tail[rank]);
  }
  std::int64_t held_out = 0;
  for (int rank = 0; rank < 4; ++rank) held_out += r.held_out(rank).second;
  EXPECT_EQ(held_out, 53);
  EXPECT_EQ(r.held_out(1).second, 0);
}

TEST(CentralStorage, bucket_is_updated_and_sent_while_the_next_is_reduced) {
  auto e = central(2);
  const plan::RankPlan storage = rank_of(e, 0);
  const auto& ops = program_of(storage, "train").ops;
  const auto waits_of = [&](const std::string& token) {
    const auto at = std::find_if(ops.begin(), ops.end(),
                                 [&](const plan::Op& op) { return plan::token(op) == token; });
    return at->after;
  };
  const plan::LaneId compute(1), sums = lane_of(storage, 0), parameters = lane_of(storage, 1);
  EXPECT_EQ(waits_of("UPD.s1"), (std::vector<plan::Dependency>{{sums, 1, 0}, {parameters, 1, 1}}));
  EXPECT_EQ(
      waits_of("BCAST.b0<r0"),
      (std::vector<plan::Dependency>{{compute, 6, 0}}));  // RATE, three zeros, UPD.s2 and UPD.s1
}

TEST(CentralStorage, clips_on_the_storage) {
  auto e = central(2);
  e.training.clip_norm = 1;
  EXPECT_EQ(on_lane(rank_of(e, 0), "train", "compute"),
            "RATE ZERO.s2 ZERO.s1 ZERO.s0 NORM.s2 NORM.s1 NORM.s0 CLIP UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(on_lane(rank_of(e, 1), "train", "compute").find("NORM"), std::string::npos);
}

TEST(CentralStorage, always_reduces_with_star) {
  auto e = central(2);
  for (const auto named : {collective::Algorithm::ring, collective::Algorithm::sharded_hierarchical,
                           collective::Algorithm::automatic}) {
    e.strategy.algorithm = named;
    EXPECT_EQ(resolved(e).document.strategy.algorithm, collective::Algorithm::star);
  }
}

TEST(CentralStorage, is_compared_with_one_computing_device) {
  const auto r = resolved(central(3));
  EXPECT_EQ(r.chief, 1);
  const auto alone = experiment::on_one_device(r);
  const topology::Network network(alone.document.topology);
  ASSERT_EQ(network.workers().size(), 1u);
  EXPECT_EQ(network.device(network.workers()[0]).name, "gpu1");
  EXPECT_EQ(alone.steps_per_epoch, r.steps_per_epoch);
  EXPECT_EQ(alone.global_batch, r.global_batch);
}

TEST(CentralStorage, shards_are_those_of_the_devices) {
  auto e = central(3, 2);
  e.data.sharding.kind = data::ShardingKind::size_skew;
  const auto r = resolved(e);
  EXPECT_EQ(data::samples_by_rank(r.shards), (std::vector<std::int64_t>{143, 71, 0, 36}));
  EXPECT_EQ(r.shares().samples(0, 2), 0);
  EXPECT_TRUE(experiment::sampler(r));
}

// Dependencies count what is left.
TEST(PlanEdit, removes_dependencies_on_dropped_ops) {
  plan::RankPlan rank = rank_of(central(2), 1);
  plan::Program program = program_of(rank, "train");
  const auto reduce_waits = [&] {
    for (const plan::Op& op : program.ops)
      if (op.kind == plan::OpKind::reduce && op.bucket == 0) return op.after.front().sequence;
    return -1;
  };
  EXPECT_EQ(reduce_waits(), 9);  // RATE, three forward, the loss, two of each backward
  drop_ops(program, [](const plan::Op& op) {
    return op.kind == plan::OpKind::rate || op.kind == plan::OpKind::loss;
  });
  EXPECT_EQ(reduce_waits(), 7);
}

}  // namespace
}  // namespace trainyard::strategy
