// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>

#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/rank_plans.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

experiment::Experiment parallel(int ranks) {
  auto e = small(ranks);
  e.strategy.kind = experiment::StrategyKind::data_parallel;
  return e;
}

TEST(DataParallel, rank_0_loads_samples_computes_the_loss_and_updates) {
  const plan::RankPlan rank = rank_of(parallel(3), 0);
  EXPECT_EQ(on_lane(rank, "train", "compute"),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "UPD.s2 UPD.s1 UPD.s0");
  const auto first_of = [&](plan::OpKind kind) {
    const auto& ops = program_of(rank, "train").ops;
    return *std::find_if(ops.begin(), ops.end(),
                         [&](const plan::Op& op) { return op.kind == kind; });
  };
  EXPECT_EQ(first_of(plan::OpKind::load).writes,
            (std::vector<plan::Access>{{rank.buffer("input"), 0, 24 * 7},
                                       {rank.buffer("labels"), 0, 24}}));
  EXPECT_EQ(first_of(plan::OpKind::loss).reads[0].count, 24 * 5);
  EXPECT_EQ(first_of(plan::OpKind::forward).reads[0].count, 8 * 7);  // its own rows
}

TEST(DataParallel, other_ranks_only_compute) {
  const plan::RankPlan rank = rank_of(parallel(3), 2);
  EXPECT_EQ(on_lane(rank, "train", "compute"),
            "RATE F.s0.m0 F.s1.m0 F.s2.m0 B.s2.m0 W.s2.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0");
  EXPECT_EQ(on_lane(rank, "train", "input"), "");
  EXPECT_EQ(on_lane(rank, "train", "comm.g0"), "BCAST.b3<r0 BCAST.b2<r0 REDUCE.b0>r0 REDUCE.b1>r0");
  EXPECT_EQ(on_lane(rank, "train", "comm.g2"),
            "BCAST.b0<r0 BCAST.b1<r2 BCAST.b2<r0");  // inputs, outputs, their gradients
  EXPECT_EQ(on_lane(rank, "train", "comm.g1"), "");
  EXPECT_EQ(rank.program("evaluate"), -1);
  for (const char* name : {"labels", "moment1", "statistics"})
    EXPECT_FALSE(rank.buffer(name).valid()) << name;
}

TEST(DataParallel, does_not_split_rows) {
  auto e = parallel(3);  // a tail of 10 samples: 4, 3 and 3
  const plan::Plan plan = coarse_plan(resolved(e)).value();
  const plan::RankPlan root = plan.rank_plan(0), other = plan.rank_plan(1);
  const auto inputs_of_1 = [](const plan::RankPlan& rank) {
    for (const plan::Op& op : program_of(rank, "tail").ops)
      if (op.group == 1 && op.bucket == 0) return op.writes.front();
    return plan::Access{};
  };
  EXPECT_EQ(inputs_of_1(root), (plan::Access{root.buffer("input"), 4 * 7, 3 * 7}));
  EXPECT_EQ(inputs_of_1(other), (plan::Access{other.buffer("input"), 0, 3 * 7}));
}

TEST(DataParallel, sends_nothing_to_a_rank_without_rows_in_a_tail) {
  auto e = parallel(3);
  e.data.train_samples = 24 * 4 + 2;
  const plan::Plan plan = coarse_plan(resolved(e)).value();
  EXPECT_EQ(on_lane(plan.rank_plan(2), "tail", "comm.g2"), "");
  EXPECT_EQ(on_lane(plan.rank_plan(0), "tail", "comm.g2"), "");
  EXPECT_EQ(on_lane(plan.rank_plan(2), "tail", "compute"), "RATE ZERO.s2 ZERO.s1 ZERO.s0");
}

TEST(DataParallel, sends_sample_numbers_if_the_model_has_dropout) {
  auto e = small_images(2);
  e.strategy.kind = experiment::StrategyKind::data_parallel;
  EXPECT_EQ(on_lane(rank_of(e, 1), "train", "comm.g1"),
            "BCAST.b0<r0 BCAST.b1<r0 BCAST.b2<r1 BCAST.b3<r0");
}

TEST(DataParallel, only_rank_0_reads_data_and_evaluates) {
  const auto r = resolved(parallel(3));
  EXPECT_EQ(r.held_out(0), (std::pair<std::int64_t, std::int64_t>{0, 53}));
  EXPECT_EQ(r.held_out(1).second, 0);
  auto sampler = experiment::sampler(r).value();
  data::Sampler alone(r.document.training.seed, 250, 24, 1);
  for (const std::int64_t step : {0, 10, 11}) {
    const auto expected = alone.indices(step, 0), read = sampler.indices(step, 0);
    EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.begin(), expected.end())) << step;
  }
}

TEST(DataParallel, plan_of_one_rank_equals_one_device) {
  auto e = parallel(1);
  const std::string alone = plan::to_text(make_plan(resolved(e)).value());
  e.strategy.kind = experiment::StrategyKind::one_device;
  EXPECT_EQ(alone, plan::to_text(make_plan(resolved(e)).value()));
}

}  // namespace
}  // namespace trainyard::strategy
