// SPDX-License-Identifier: GPL-3.0-or-later
// Synchronized batch normalization as a plan: two small all-reduces a layer and micro-step, on a
// lane of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/collective/expand.h"
#include "core/experiment/sent_bytes.h"
#include "core/experiment/sync_batch_norm.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/rank_plans.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using model::LayerKind;
using plan::OpKind;

// Linear, batch norm, linear: segments 0 to 2, in one bucket.
experiment::Experiment normalized(int ranks) {
  auto e = small(ranks);
  e.model.layers = {{LayerKind::linear, 6},
                    {LayerKind::batch_norm, 0},
                    {LayerKind::tanh, 0},
                    {LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 1e9;
  return e;
}

TEST(Synchronized, sums_are_reduced_before_each_normalization) {
  const plan::RankPlan rank = rank_of(synchronized(normalized(3)), 1);
  EXPECT_EQ(on_lane(rank, "train", "compute"),
            "RATE F.s0.m0 STAT.s1.m0 F.s1.m0 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 W.s1.m0 B.s1.m0 "
            "W.s0.m0 UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(on_lane(rank, "train", "comm.g0"), "AR.b0");
  EXPECT_EQ(on_lane(rank, "train", "comm.g1"), "AR.b1 AR.b2");
  for (const plan::Buffer& buffer : rank.buffers)
    EXPECT_EQ(buffer.shared, buffer.name == "grads" || buffer.name == "sums.s1" ||
                                 buffer.name == "gradient_sums.s1")
        << buffer.name;
}

TEST(Synchronized, sums_do_not_wait_for_gradients) {
  const plan::Plan plan = coarse_plan(resolved(synchronized(normalized(3)))).value();
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0], plan.groups[1]);
  const plan::RankPlan rank = plan.rank_plan(0);
  for (const plan::Op& op : program_of(rank, "train").ops) {
    if (op.kind != OpKind::statistics && op.group != 1) continue;
    for (const plan::Dependency& dependency : op.after)
      EXPECT_NE(rank.lanes[dependency.lane.index()].name, "comm.g0") << plan::token(op);
  }
}

TEST(Synchronized, evaluation_reduces_no_sums) {
  const plan::RankPlan rank = rank_of(synchronized(normalized(2)), 0);
  EXPECT_EQ(on_lane(rank, "evaluate", "comm.g1"), "");
  EXPECT_EQ(on_lane(rank, "evaluate", "compute"), "F.s0.m0 F.s1.m0 F.s2.m0 LOSS.m0");
}

// A gradient that no layer needs is not summed: the first layer with parameters passes none on.
TEST(Synchronized, first_layer_reduces_sums_only_forward) {
  auto e = normalized(2);
  e.model.layers.erase(e.model.layers.begin());
  const plan::RankPlan rank = rank_of(synchronized(e), 0);
  EXPECT_EQ(on_lane(rank, "train", "comm.g1"), "AR.b1");
  const auto& statistics = program_of(rank, "train").ops.at(2);
  EXPECT_EQ(plan::token(statistics), "STAT.s0.m0");
  EXPECT_EQ(statistics.after.front(), (plan::Dependency{plan::LaneId(0), 1, 0})) << "its samples";
}

TEST(Synchronized, plan_of_one_rank_equals_one_device) {
  auto e = normalized(1);
  const std::string text = plan::to_text(make_plan(resolved(e)).value());
  EXPECT_EQ(plan::to_text(make_plan(resolved(synchronized(e))).value()), text);
  e.strategy.kind = experiment::StrategyKind::one_device;
  const std::string alone = plan::to_text(make_plan(resolved(e)).value());
  EXPECT_EQ(plan::to_text(make_plan(resolved(synchronized(e))).value()), alone);
}

TEST(Synchronized, sums_exist_only_in_layers_that_request_them) {
  auto e = normalized(2);
  e.model.layers.insert(e.model.layers.begin() + 1,
                        {.kind = LayerKind::batch_norm, .synchronized = true});
  const plan::RankPlan rank = rank_of(e, 0);
  EXPECT_EQ(on_lane(rank, "train", "comm.g1"), "AR.b1 AR.b2");
  EXPECT_THAT(on_lane(rank, "train", "compute"),
              testing::HasSubstr("F.s0.m0 STAT.s1.m0 F.s1.m0 F.s2.m0 F.s3.m0"));
}

// 250 = 10 x 24 + 10; with 12 ranks the tail leaves two without samples.
TEST(Synchronized, rank_without_samples_adds_zeros_and_updates_running_statistics) {
  auto e = synchronized(normalized(12));
  e.training.batch_per_rank = 2;
  const plan::RankPlan empty = rank_of(e, 11);
  ASSERT_EQ(program_of(empty, "tail").samples, 0);
  EXPECT_EQ(on_lane(empty, "tail", "compute"),
            "RATE STAT.s1.m0 F.s1.m0 ZERO.s2 ZERO.s1 ZERO.s0 UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(on_lane(empty, "tail", "comm.g1"), "AR.b1 AR.b2");
}

// Rank 0 has 4 samples in two micro-steps of 3 in the tail; the others have 3 in one.
TEST(Synchronized, ranks_have_equal_numbers_of_micro_steps) {
  auto e = synchronized(normalized(3));
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = 3;
  e.data.train_samples = 27 * 9 + 10;
  const plan::RankPlan rank = rank_of(e, 1);
  EXPECT_EQ(on_lane(rank, "tail", "input"), "LOAD.m0");
  EXPECT_EQ(on_lane(rank, "tail", "comm.g1"), "AR.b1 AR.b2 AR.b1 AR.b2");
  EXPECT_THAT(on_lane(rank, "tail", "compute"),
              testing::HasSubstr("W.s0.m0 STAT.s1.m1 F.s1.m1 ZERO.s1.m1 UPD"));
  EXPECT_EQ(experiment::count_micro_steps(resolved(e)), 2 * (9 * 3 + 2));
}

// Compression is of gradients; what batch normalization sums travels as it is, numbered after all
// that they are encoded in.
TEST(Synchronized, sums_are_not_compressed) {
  auto e = synchronized(normalized(2));
  e.strategy.bucket_bytes = 1;
  e.strategy.compression = {compute::compression::Scheme::power_sgd, 0.1, 1, true};
  const plan::RankPlan rank = rank_of(e, 0);
  EXPECT_EQ(on_lane(rank, "train", "comm.g0"), "AR.b0 AR.b1 AR.b2 AR.b3 AR.b4");
  EXPECT_EQ(on_lane(rank, "train", "comm.g1"), "AR.b5 AR.b6");
  EXPECT_EQ(rank.buffers[rank.buffer("sums.s1").index()].dtype, base::DType::fp64);
}

std::int64_t bytes_of(const plan::RankPlan& rank, const std::string& program) {
  return collective::sent_bytes(rank, program_of(rank, program));
}

// 2C + 1 numbers of 8 bytes forward and 2C backward, a layer of C channels and micro-step, by the
// algorithm of the gradients.
TEST(Synchronized, plan_sends_the_bytes_of_its_formula) {
  for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::all_to_all,
                               collective::Algorithm::binary_tree})
    for (const std::int64_t micro_steps : {1, 2}) {
      auto e = normalized(3);
      e.strategy.algorithm = algorithm;
      e.training.batch_per_rank = 8 / micro_steps;
      e.training.accumulation_steps = micro_steps;
      const auto alone = resolved(e), together = resolved(synchronized(e));
      std::int64_t more = 0;
      const plan::Plan apart = make_plan(alone).value(), joined = make_plan(together).value();
      for (std::int32_t rank = 0; rank < 3; ++rank)
        more +=
            bytes_of(joined.rank_plan(rank), "train") - bytes_of(apart.rank_plan(rank), "train");
      const std::int64_t times = algorithm == collective::Algorithm::all_to_all ? 3 : 2;
      EXPECT_EQ(more, micro_steps * times * 2 * 8 * ((2 * 6 + 1) + 2 * 6));
    }
}

// Bytes of a full run by the formula and by the programs of its steps.
TEST(Synchronized, bytes_of_a_run_equal_those_of_its_plan) {
  auto e = synchronized(normalized(3));
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = 3;
  e.data.train_samples = 27 * 9 + 10;
  e.training.steps = 23;  // two epochs and three steps
  const auto r = resolved(e);
  const plan::Plan plan = make_plan(r).value();
  const auto sent = experiment::sent_bytes(r).value();
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    const plan::RankPlan one = plan.rank_plan(rank);
    EXPECT_EQ(sent[static_cast<std::size_t>(rank)],
              21 * bytes_of(one, "train") + 2 * bytes_of(one, "tail"));
  }
}

}  // namespace
}  // namespace trainyard::strategy
