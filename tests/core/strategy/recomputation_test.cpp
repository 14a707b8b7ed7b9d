// SPDX-License-Identifier: GPL-3.0-or-later
// Plans in which outputs are given up and made again.
#include "core/experiment/recomputation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/rank_plans.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using experiment::PipelineSchedule;
using experiment::StrategyKind;
using testing::HasSubstr;

// Five linear layers in runs of two.
experiment::Experiment chain(int ranks, std::int64_t k = 2) {
  using model::LayerKind;
  experiment::Experiment e = small(ranks);
  e.model.layers = {{LayerKind::linear, 6}, {LayerKind::tanh, 0},   {LayerKind::linear, 6},
                    {LayerKind::tanh, 0},   {LayerKind::linear, 6}, {LayerKind::tanh, 0},
                    {LayerKind::linear, 6}, {LayerKind::tanh, 0},   {LayerKind::linear, 0}};
  e.training.recompute_segments = k;
  return e;
}

const plan::Op& op_of(const plan::RankPlan& rank, const std::string& token) {
  const auto& ops = rank.programs[0].ops;
  return *std::find_if(ops.begin(), ops.end(),
                       [&](const plan::Op& op) { return plan::token(op) == token; });
}

TEST(Recomputing, precedes_the_backward_pass_of_each_run) {
  EXPECT_THAT(on_lane(rank_of(chain(2)), "train", "compute"),
              HasSubstr("LOSS.m0 B.s4.m0 W.s4.m0 R.s2.m0 B.s3.m0 W.s3.m0 B.s2.m0 W.s2.m0 R.s0.m0 "
                        "B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0"));
}

TEST(Recomputing, has_the_accesses_of_the_forward_pass) {
  const plan::RankPlan rank = rank_of(chain(2));
  const plan::Op &forward = op_of(rank, "F.s2.m0"), &again = op_of(rank, "R.s2.m0");
  EXPECT_EQ(again.reads, forward.reads);
  EXPECT_EQ(again.writes, forward.writes);
  EXPECT_EQ(again.flops, forward.flops);
}

TEST(Recomputing, is_not_in_evaluation) {
  const plan::RankPlan rank = rank_of(chain(2));
  for (const plan::Program& program : rank.programs)
    for (const plan::Op& op : program.ops)
      EXPECT_TRUE(program.name == "train" || program.name == "tail" ||
                  op.kind != plan::OpKind::recompute)
          << program.name;
}

// Its sums are kept, and nothing follows them once more.
TEST(Recomputing, of_a_batch_normalization_reuses_sums_and_keeps_running_statistics) {
  for (const bool synchronizes : {false, true}) {
    experiment::Experiment e = small_normalized_images(2);
    e.model.layers.insert(e.model.layers.begin() + 4,
                          {model::LayerKind::relu, 0});  // its backward pass reads the output
    e.model.layers[5].back = 4;
    if (synchronizes) e = synchronized(e);
    e.training.recompute_segments = 4;
    const plan::RankPlan rank = rank_of(e);
    const plan::Op& again = op_of(rank, "R.s2.m0");
    ASSERT_EQ(plan::token(again), "R.s2.m0");
    EXPECT_EQ(again.reads.back().buffer, rank.buffer("sums.s2"));
    ASSERT_EQ(again.writes.size(), 1U);
    EXPECT_EQ(again.writes[0].buffer, rank.buffer("act.s2"));
    EXPECT_LT(again.flops, op_of(rank, "F.s2.m0").flops + (synchronizes ? 1 : 0));
  }
}

experiment::Experiment staged(PipelineSchedule schedule, int micro_batches = 4) {
  experiment::Experiment e = piped(chain(2, 9), schedule, micro_batches);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"4", 1}};
  return e;
}

TEST(Recomputing, of_a_stage_runs_per_micro_batch) {
  const auto e = staged(PipelineSchedule::gpipe, 2);
  EXPECT_EQ(on_lane(rank_of(e, 0), "train", "compute"),
            "RATE F.s0.m0 F.s1.m0 F.s0.m1 F.s1.m1 R.s0.m0 R.s1.m0 B.s1.m0 W.s1.m0 B.s0.m0 W.s0.m0 "
            "R.s0.m1 R.s1.m1 B.s1.m1 W.s1.m1 B.s0.m1 W.s0.m1 UPD.s1 UPD.s0");
  EXPECT_THAT(on_lane(rank_of(e, 1), "train", "compute"),
              HasSubstr("R.s2.m0 R.s3.m0 R.s4.m0 LOSS.m0 B.s4.m0 W.s4.m0"));
}

// Buffers: inputs for every held micro-batch; outputs for one that is sent and one that is
// computed; intermediate values for one only.
TEST(Recomputing, in_a_stage_keeps_activations_of_one_micro_batch) {
  const auto room = [](PipelineSchedule schedule, std::int32_t rank, const std::string& buffer,
                       std::int64_t width) {
    const plan::RankPlan plan = rank_of(staged(schedule, 8), rank);
    return plan.buffers[plan.buffer(buffer).index()].elements / (3 * width);
  };
  EXPECT_EQ(room(PipelineSchedule::gpipe, 0, "act.s0", 6), 1);
  EXPECT_EQ(room(PipelineSchedule::gpipe, 0, "act.s1", 6), 2);
  EXPECT_EQ(room(PipelineSchedule::gpipe, 1, "act.s1", 6), 8);
  EXPECT_EQ(room(PipelineSchedule::gpipe, 1, "act.s2", 6), 1);
  EXPECT_EQ(room(PipelineSchedule::gpipe, 1, "act.s4", 5), 1);
  EXPECT_EQ(room(PipelineSchedule::one_forward_one_backward, 0, "act.s0", 6), 1);
}

// The second of four stages: weight gradients wait for one backward pass, so one is computed while
// another waits.
TEST(Recomputing, keeps_activations_that_weight_gradients_need) {
  experiment::Experiment e = piped(chain(4, 9), PipelineSchedule::zb_h1, 8);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"2", 1}, {"6", 2}, {"8", 3}};  // 1 and 2 on rank 1
  const plan::RankPlan rank = rank_of(e, 1);
  EXPECT_EQ(rank.buffers[rank.buffer("act.s1").index()].elements / (3 * 6), 2);
  e.training.recompute_segments = 0;
  const plan::RankPlan kept = rank_of(e, 1);
  EXPECT_EQ(kept.buffers[kept.buffer("act.s1").index()].elements / (3 * 6), 4);
}

TEST(Recomputing, is_in_every_strategy_with_full_layers) {
  using enum StrategyKind;
  for (const StrategyKind kind : {mirrored, multi_worker_mirrored, ddp, fsdp, data_parallel, gossip,
                                  local_sgd, model_parallel, pipeline, one_device}) {
    experiment::Experiment e = chain(kind == one_device ? 1 : 4);
    e.strategy.kind = kind;
    e.strategy.bucket_bytes = 1e9;
    if (kind == multi_worker_mirrored) e.topology = tests::drawn_hosts(2, 2);
    if (kind == model_parallel || kind == pipeline) {
      e = piped(e, PipelineSchedule::gpipe);
      e.strategy.kind = kind;
      if (kind == model_parallel)
        continue;  // sequential micro-batches: each rank does backward of one before the next
    }
    const plan::RankPlan rank = rank_of(e);
    EXPECT_TRUE(std::any_of(rank.programs[0].ops.begin(), rank.programs[0].ops.end(),
                            [](const plan::Op& op) { return op.kind == plan::OpKind::recompute; }))
        << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace trainyard::strategy
