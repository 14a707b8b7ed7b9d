// SPDX-License-Identifier: GPL-3.0-or-later
// Casts of weights, and the ops that wait for them.
#include "core/strategy/mixed.h"

#include <gtest/gtest.h>

#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"
#include "tests/core/strategy/tokens.h"

namespace trainyard::strategy {
namespace {

using experiment::Experiment;
using experiment::Precision;
using experiment::StrategyKind;

plan::RankPlan rank_in(Experiment e, Precision precision, int rank = 0) {
  e.training.precision = precision;
  return coarse_plan(resolved(e)).value().rank_plan(rank);
}

Experiment as(Experiment e, StrategyKind kind) {
  e.strategy.kind = kind;
  return e;
}

TEST(Mixed, precision_casts_weights_before_their_first_use) {
  Experiment e = as(small(2), StrategyKind::mirrored);
  e.training.accumulation_steps = 2;
  const plan::RankPlan rank = rank_in(e, Precision::bf16);
  EXPECT_EQ(on_lane(rank, "train", "compute"),
            "RATE CAST.s0 F.s0.m0 CAST.s1 F.s1.m0 CAST.s2 F.s2.m0 LOSS.m0 B.s2.m0 W.s2.m0 B.s1.m0 "
            "W.s1.m0 B.s0.m0 W.s0.m0 "
            "F.s0.m1 F.s1.m1 F.s2.m1 LOSS.m1 B.s2.m1 W.s2.m1 B.s1.m1 W.s1.m1 B.s0.m1 W.s0.m1 "
            "UPD.s2 UPD.s1 UPD.s0");
  EXPECT_EQ(on_lane(rank, "evaluate", "compute"),
            "CAST.s0 F.s0.m0 CAST.s1 F.s1.m0 CAST.s2 F.s2.m0 LOSS.m0");
  for (const char* name : {"act.s0", "grad.s1", "input", "halves"})
    EXPECT_EQ(rank.buffers[rank.buffer(name).index()].dtype, base::DType::bf16) << name;
  for (const char* name : {"params", "grads", "micro_grads"})
    EXPECT_EQ(rank.buffers[rank.buffer(name).index()].dtype, base::DType::fp32) << name;
}

TEST(Mixed, precision_does_not_cast_normalizations_and_tables) {
  const plan::RankPlan rank = rank_in(as(small_gpt(1), StrategyKind::one_device), Precision::bf16);
  const model::Model model = resolved(small_gpt(1)).model;
  for (const plan::Op& op : program_of(rank, "train").ops)
    if (op.kind == plan::OpKind::cast) {
      EXPECT_EQ(model.segments[static_cast<std::size_t>(op.segment)].kind,
                model::LayerKind::linear);
    }
}

TEST(Mixed, precision_casts_a_table_that_a_linear_layer_shares) {
  const plan::RankPlan rank =
      rank_in(as(small_tied_gpt(1), StrategyKind::one_device), Precision::bf16);
  const std::string ops = on_lane(rank, "train", "compute");
  const std::string last = std::to_string(resolved(small_tied_gpt(1)).model.segments.size() - 1);
  EXPECT_NE(ops.find("CAST.s0 F.s" + last + ".m0"), std::string::npos) << ops;
  EXPECT_EQ(ops.find("RATE CAST"), std::string::npos)
      << "not before either: the embedding looks up its rows in fp32";
}

TEST(Mixed, precision_casts_gathered_units_after_each_gather) {
  Experiment e = as(small(2), StrategyKind::fsdp);
  e.strategy.fsdp.shard = experiment::Shard::full;
  const std::string ops = on_lane(rank_in(e, Precision::bf16), "train", "compute");
  const auto count = [&](const std::string& token) {
    std::size_t found = 0;
    for (std::size_t at = ops.find(token); at != std::string::npos; at = ops.find(token, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("CAST.s1"), 2u) << ops << ": forward, and backward";
  e.strategy.fsdp.reshard_after_forward = false;
  const std::string kept = on_lane(rank_in(e, Precision::bf16), "train", "compute");
  EXPECT_EQ(kept.find("CAST.s1"), kept.rfind("CAST.s1"));
}

TEST(Mixed, precision_updates_the_loss_scale_last_and_only_in_fp16) {
  const plan::RankPlan rank = rank_in(as(small(2), StrategyKind::mirrored), Precision::fp16);
  const std::string ops = on_lane(rank, "train", "compute");
  EXPECT_TRUE(ops.ends_with("CLIP UPD.s2 UPD.s1 UPD.s0 SCALE")) << ops;
  EXPECT_EQ(on_lane(rank, "evaluate", "compute").find("SCALE"), std::string::npos);
  EXPECT_FALSE(
      rank_in(as(small(2), StrategyKind::mirrored), Precision::bf16).buffer("loss_scale").valid());
}

// A dependency on a number of compute ops still means the same ops after casts are inserted, and
// all before them.
TEST(Mixed, precision_keeps_the_targets_of_dependencies) {
  for (const StrategyKind kind :
       {StrategyKind::mirrored, StrategyKind::ddp, StrategyKind::fsdp, StrategyKind::local_sgd}) {
    const Experiment e = as(small(2), kind);
    const plan::RankPlan full = rank_in(e, Precision::fp32), half = rank_in(e, Precision::bf16);
    const auto waited_for = [](const plan::RankPlan& rank, const plan::Program& program,
                               const plan::Dependency& dependency) {
      std::int32_t seen = 0;
      for (const plan::Op& op : program.ops)
        if (op.lane == dependency.lane && ++seen == dependency.sequence) return plan::token(op);
      return rank.lanes[dependency.lane.index()].name;
    };
    for (const plan::Program& program : full.programs) {
      const plan::Program& other = program_of(half, program.name);
      for (const plan::Op& op : program.ops) {
        if (!plan::communicates(op.kind)) continue;
        const auto same =
            std::find_if(other.ops.begin(), other.ops.end(), [&](const plan::Op& one) {
              return plan::token(one) == plan::token(op) && one.lane == op.lane;
            });
        ASSERT_NE(same, other.ops.end());
        ASSERT_EQ(same->after.size(), op.after.size());
        for (std::size_t i = 0; i < op.after.size(); ++i)
          if (op.after[i].steps_back == 0 && op.after[i].sequence > 0) {
            EXPECT_EQ(waited_for(half, other, same->after[i]),
                      waited_for(full, program, op.after[i]));
          }
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::strategy
