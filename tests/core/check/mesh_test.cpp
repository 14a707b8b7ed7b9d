// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of ranks in a mesh: all that the strategy makes are proved, and what is broken in one is
// found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/strategy/order.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using plan::Op;
using plan::OpKind;

using experiment::Shard;

experiment::Experiment meshed(experiment::Experiment e, int data, int pipeline, int tensor,
                              std::optional<Shard> shard = {}) {
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {
      .data = data, .pipeline = pipeline, .tensor = tensor, .shards_data = shard.has_value()};
  e.strategy.fsdp.shard = shard.value_or(Shard::full);
  return e;
}

RC_GTEST_PROP(MeshPlans, of_any_shape_are_proved, ()) {
  using S = experiment::PipelineSchedule;
  const int data = *rc::gen::inRange(1, 4), pipeline = *rc::gen::inRange(1, 4),
            tensor = *rc::gen::inRange(1, data * pipeline > 4 ? 2 : 4);
  const auto shard = *rc::gen::element<std::optional<Shard>>(std::nullopt, Shard::optimizer,
                                                             Shard::gradients, Shard::full);
  experiment::Experiment e =
      meshed(strategy::small_rows(data * pipeline * tensor), data, pipeline, tensor, shard);
  e.strategy.fsdp.reshard_after_forward = *rc::gen::arbitrary<bool>();
  e.strategy.fsdp.prefetch = *rc::gen::inRange(0, 4);
  e.strategy.bucket_bytes = *rc::gen::element(1, 300, 100'000);
  e.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct);
  e.strategy.stages.schedule =
      *rc::gen::element(S::gpipe, S::one_forward_one_backward, S::zb_h1, S::naive);
  e.training.batch_per_rank = *rc::gen::inRange(2, 5);
  e.training.accumulation_steps = *rc::gen::inRange(1, 5);
  e.training.clip_norm = *rc::gen::element(0.0, 1.0);
  e.training.recompute_segments = *rc::gen::element(0, 2);
  const auto made = strategy::resolved(e);
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(made).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::make_plan(made).value())) == "");
}

Victim whole(int data, int pipeline, int tensor, std::optional<Shard> shard = {}) {
  experiment::Experiment e =
      meshed(strategy::small_rows(data * pipeline * tensor), data, pipeline, tensor, shard);
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  return coarse(e);
}

OpTest works_on(Victim& victim, std::size_t rank, OpKind kind, const std::string& buffer) {
  return [&victim, rank, kind, buffer](const Op& op) {
    return op.kind == kind && !op.writes.empty() &&
           victim.ranks[rank].buffers[op.writes.front().buffer.index()].name.starts_with(buffer);
  };
}

// Every rank's last lane, with all that it does and all who wait for that; and all groups but so
// many.
void forget_last_lanes(Victim& victim, std::size_t groups) {
  for (plan::RankPlan& rank : victim.ranks) {
    const plan::LaneId lane(rank.lanes.size() - 1);
    rank.lanes.pop_back();
    for (plan::Program& program : rank.programs) {
      std::erase_if(program.ops, [&](const Op& op) { return op.lane == lane; });
      for (Op& op : program.ops)
        std::erase_if(op.after,
                      [&](const plan::Dependency& dependency) { return dependency.lane == lane; });
    }
  }
  victim.groups.resize(groups);
}

TEST(BrokenMesh, finds_gradients_of_a_replica_that_are_not_summed) {
  Victim victim = whole(2, 2, 1);
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (const std::size_t at :
         {victim.first(rank, works_on(victim, rank, OpKind::all_reduce, "grads"))})
      victim.remove(rank, at);
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 2, program train, op UPD.s7"));
}

// The embedding's own part of the gradient, and on another rank that of the layer which is tied to
// it.
TEST(BrokenMesh, finds_a_table_in_two_stages_that_is_not_summed) {
  experiment::Experiment e = meshed(strategy::small_tied_gpt(2), 1, 2, 1);
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  Victim victim = coarse(e);
  forget_last_lanes(victim, victim.groups.size() - 1);
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 1, program tail, op UPD.s0"))
      << first_finding(victim);
}

// Two separate pipelines: there is no group of replicas, and no lane to one.
TEST(BrokenMesh, finds_replicas_that_do_not_communicate) {
  Victim victim = whole(2, 2, 1);
  forget_last_lanes(victim, 4);
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 2, program tail, op UPD.s7"));
}

// For one layer, rank 0 sums its shard with the second shard of the other replica, and rank 1 with
// its first.
TEST(BrokenMesh, finds_a_sum_of_a_layer_over_replicas) {
  experiment::Experiment e = meshed(strategy::small_rows(4), 2, 1, 2);
  e.data.train_samples = 240;
  e.data.held_out_samples = 0;
  Victim victim = coarse(e);
  const auto first = static_cast<std::int32_t>(victim.groups.size());
  victim.groups.push_back({{0, 3}});
  victim.groups.push_back({{2, 1}});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::int32_t group = rank == 0 || rank == 3 ? first : first + 1;
    const plan::LaneId lane(victim.ranks[rank].lanes.size());
    victim.ranks[rank].lanes.push_back(
        {"comm.g" + std::to_string(group), plan::LaneKind::comm, group});
    for (Op& op : victim.train(rank)) {
      if (works_on(victim, rank, OpKind::all_reduce, "act.s4")(op))
        op.lane = lane, op.group = group;
      op.after.clear();
    }
    strategy::order_by_data(victim.ranks[rank]);
  }
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train, op UPD.s7"));
}

// The output of segment 4, which both parts of the first stage sum, goes to the second as soon as
// each has made its own.
TEST(BrokenMesh, finds_a_shard_that_is_sent_before_it_is_summed) {
  experiment::Experiment e = meshed(strategy::small_rows(4), 1, 2, 2);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"5", 1}};
  Victim victim = coarse(e);
  auto& ops = victim.train(0);
  const std::size_t sum = victim.first(0, works_on(victim, 0, OpKind::all_reduce, "act.s4"));
  Op& hands_on = ops[victim.first(0, works_on(victim, 0, OpKind::broadcast, "act.s4"))];
  const auto waits =
      std::find_if(hands_on.after.begin(), hands_on.after.end(),
                   [&](const plan::Dependency& d) { return d.lane == ops[sum].lane; });
  ASSERT_NE(waits, hands_on.after.end());
  *waits = ops[sum].after.front();
  EXPECT_NE(first_finding(victim), "");
}

TEST(BrokenMesh, finds_a_micro_batch_that_one_pipeline_omits) {
  Victim victim = whole(2, 2, 1);
  const std::size_t last = victim.find(2, is(OpKind::forward)).back();
  victim.remove(2, last);
  EXPECT_NE(first_finding(victim), "");
}

TEST(BrokenMesh, finds_a_shard_of_the_parameters_that_is_not_gathered) {
  Victim victim = whole(2, 2, 1, Shard::optimizer);
  for (const std::size_t rank : {0U, 1U})
    victim.remove(rank, victim.first(rank, works_on(victim, rank, OpKind::all_gather, "params")));
  EXPECT_TRUE(is_found(victim, "proof_sharding at rank 0, program train"));
}

// Two pairs, each of which shares the model out, and sums nothing with the other.
TEST(BrokenMesh, finds_replicas_that_shard_a_model_separately) {
  experiment::Experiment e = strategy::small_rows(4);
  e.topology = tests::drawn_hosts(2, 2);
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  Victim victim = coarse(e);
  forget_last_lanes(victim, 2);
  EXPECT_TRUE(is_found(victim, "proof_sharding at rank 0, program tail, op UPD.s0"))
      << first_finding(victim);
}

TEST(BrokenMesh, finds_a_unit_that_is_not_gathered_for_a_cell) {
  experiment::Experiment e = meshed(strategy::small_rows(4), 2, 2, 1, Shard::full);
  e.strategy.bucket_bytes = 1;
  Victim victim = coarse(e);
  for (const std::size_t rank : {0U, 1U})
    victim.remove(rank, victim.first(rank, works_on(victim, rank, OpKind::all_gather, "params")));
  EXPECT_TRUE(is_found(victim, "proof_sharding at rank 0, program train, op F.s0.m0"))
      << first_finding(victim);
}

TEST(BrokenMesh, finds_a_micro_batch_whose_gradient_is_not_kept) {
  Victim victim = whole(2, 1, 1, Shard::gradients);
  const auto keeps = victim.find(0, works_on(victim, 0, OpKind::mix, "grad_shard"));
  ASSERT_GE(keeps.size(), 2U);
  victim.remove(0, keeps.back());
  EXPECT_TRUE(is_found(victim, "proof_sharding at rank 0, program train, op UPD.s0"));
}

}  // namespace
}  // namespace trainyard::check
