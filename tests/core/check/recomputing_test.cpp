// SPDX-License-Identifier: GPL-3.0-or-later
// Plans in which outputs are made again: all that strategies make are proved, and what is broken in
// one is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/experiment/fields.h"
#include "core/plan/text.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::Experiment;
using experiment::PipelineSchedule;
using experiment::StrategyKind;
using testing::Contains;

bool makes_again(const plan::Plan& plan) {
  for (std::int32_t r = 0; r < plan.ranks; ++r)
    for (const plan::Program& program : plan.rank_plan(r).programs)
      for (const plan::Op& op : program.ops)
        if (op.kind == plan::OpKind::recompute) return true;
  return false;
}

Experiment any_model_to_recompute(int ranks) {
  switch (*rc::gen::inRange(0, 6)) {
    case 0: return strategy::small_rows(ranks);
    case 1: return strategy::small_gpt(ranks);
    case 2: return strategy::small_tied_gpt(ranks);
    case 3: return strategy::small_images(ranks);
    case 4: return strategy::small_normalized_images(ranks);
    default: return strategy::synchronized(strategy::small_normalized_images(ranks));
  }
}

void expect_proved(const experiment::Resolved& resolved) {
  for (const auto& plan : {strategy::coarse_plan(resolved), strategy::make_plan(resolved)}) {
    const Report report = examine(plan.value());
    RC_ASSERT(base::to_string(report.problems()) == "");
    RC_ASSERT(makes_again(*plan) == (std::find(report.proofs.begin(), report.proofs.end(),
                                               Proof::recomputing) != report.proofs.end()));
  }
}

RC_GTEST_PROP(Recomputing, in_replicas_of_any_model_is_proved, ()) {
  const int ranks = *rc::gen::inRange(2, 4);
  Experiment e = any_model_to_recompute(ranks);
  e.strategy.kind = *rc::gen::element(StrategyKind::mirrored, StrategyKind::ddp, StrategyKind::fsdp,
                                      StrategyKind::local_sgd, StrategyKind::gossip);
  const bool weighs = e.strategy.kind == StrategyKind::mirrored && *rc::gen::arbitrary<bool>();
  if (weighs) e.strategy.average = experiment::AveragedQuantity::weights;
  e.strategy.fsdp.shard = *rc::gen::element(experiment::Shard::full, experiment::Shard::gradients,
                                            experiment::Shard::optimizer);
  e.strategy.bucket_bytes = *rc::gen::element(100.0, 1000.0, 1e9);
  e.training.accumulation_steps = *rc::gen::inRange(1, 4);
  e.training.recompute_segments = *rc::gen::inRange(1, 9);
  e.training.precision =
      *rc::gen::element(experiment::Precision::fp32, experiment::Precision::bf16);
  const bool own_statistics =
      e.strategy.kind == StrategyKind::local_sgd || e.strategy.kind == StrategyKind::gossip;
  for (model::LayerSpec& layer : e.model.layers)
    layer.synchronized = layer.synchronized && !own_statistics;
  if (!experiment::validate(e, ".").empty()) return;
  expect_proved(strategy::resolved(e));
}

RC_GTEST_PROP(Recomputing, in_stages_of_any_model_is_proved, ()) {
  const int ranks = *rc::gen::inRange(2, 4);
  Experiment e = strategy::piped(
      any_model_to_recompute(ranks),
      *rc::gen::element(PipelineSchedule::gpipe, PipelineSchedule::naive,
                        PipelineSchedule::one_forward_one_backward, PipelineSchedule::zb_h1,
                        PipelineSchedule::interleaved_1f1b),
      ranks * *rc::gen::inRange(1, 4));
  e.training.recompute_segments = *rc::gen::inRange(1, 9);
  for (model::LayerSpec& layer : e.model.layers) layer.synchronized = false;
  if (!experiment::validate(e, ".").empty()) return;
  expect_proved(strategy::resolved(e));
}

TEST(Recomputing, in_workers_of_servers_is_proved) {
  Experiment e = strategy::small_rows(4);
  e.topology.hosts[0].devices[3].role = topology::Role::parameter_server;
  e.strategy.kind = StrategyKind::parameter_server;
  e.training.recompute_segments = 3;
  const plan::Plan plan = strategy::make_plan(strategy::resolved(e)).value();
  ASSERT_TRUE(makes_again(plan));
  EXPECT_EQ(base::to_string(check(plan)), "");
}

// Five linear layers in runs of two, in micro-steps.
Experiment chain(int ranks) {
  using model::LayerKind;
  Experiment e = strategy::small(ranks);
  e.model.layers = {{LayerKind::linear, 6}, {LayerKind::tanh, 0},   {LayerKind::linear, 6},
                    {LayerKind::tanh, 0},   {LayerKind::linear, 6}, {LayerKind::tanh, 0},
                    {LayerKind::linear, 6}, {LayerKind::tanh, 0},   {LayerKind::linear, 0}};
  e.training.recompute_segments = 2;
  e.training.accumulation_steps = 2;
  return e;
}

std::set<Proof> found_in(Experiment e, const std::function<void(Victim&)>& breaks) {
  Victim victim(strategy::make_plan(strategy::resolved(e)).value());
  EXPECT_TRUE(examine(victim.plan()).findings.empty());
  breaks(victim);
  return failed(victim);
}

// An op of the compute lane goes before another one of it.
void move_before(Victim& victim, std::size_t rank, const std::string& token,
                 const std::string& before) {
  auto& ops = victim.train(rank);
  const std::size_t from = victim.first(rank, is(token));
  const plan::Op op = ops[from];
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(from));
  ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(victim.first(rank, is(before))), op);
}

TEST(Recomputing, in_a_replica_that_is_broken_is_found) {
  const auto found = [](const std::function<void(Victim&)>& breaks) {
    return found_in(chain(2), breaks);
  };
  // Recomputes another micro-step, which is not there yet.
  EXPECT_THAT(found([](Victim& v) { v.op(0, "R.s2.m0").micro = 1; }), Contains(Proof::recomputing));
  // Reads the output of another segment.
  EXPECT_THAT(found([](Victim& v) {
                plan::Op& op = v.op(0, "R.s2.m0");
                op.reads.front().buffer = v.ranks[0].buffer("act.s0");
              }),
              Contains(Proof::recomputing));
  // Uses too few parameters.
  EXPECT_THAT(found([](Victim& v) { v.op(0, "R.s0.m1").reads.pop_back(); }),
              Contains(Proof::recomputing));
  // Into another place than the backward pass reads.
  EXPECT_THAT(found([](Victim& v) {
                v.op(0, "R.s2.m0").writes.front().buffer = v.ranks[0].buffer("act.s1");
              }),
              Contains(Proof::recomputing));
  // Before its forward pass.
  EXPECT_THAT(found([](Victim& v) { move_before(v, 0, "R.s2.m1", "F.s1.m1"); }),
              Contains(Proof::recomputing));
}

// The last micro-step has no backward pass after the update of the layer: it is put there.
TEST(Recomputing, after_an_update_is_found) {
  Experiment e = chain(1);
  e.strategy.kind = StrategyKind::one_device;
  EXPECT_THAT(found_in(e, [](Victim& v) { move_before(v, 0, "UPD.s2", "R.s2.m1"); }),
              Contains(Proof::recomputing));
  e = chain(2);
  e.strategy.average = experiment::AveragedQuantity::weights;
  e.training.accumulation_steps = 1;
  EXPECT_THAT(found_in(e, [](Victim& v) { move_before(v, 0, "R.s2.m0", "LOSS.m0"); }),
              testing::IsEmpty())
      << "sooner is allowed, but needs more memory";
  EXPECT_THAT(
      found_in(e,
               [](Victim& v) { v.op(0, "R.s2.m0").reads[1] = v.op(0, "UPD.s4").writes.front(); }),
      Contains(Proof::recomputing));
}

TEST(Recomputing, of_normalized_rows_after_their_statistics_changed_is_found) {
  Experiment e = strategy::small_normalized_images(2);
  e.model.layers.insert(e.model.layers.begin() + 4, {model::LayerKind::relu, 0});
  e.model.layers[5].back = 4;
  e.training.recompute_segments = 4;
  const auto follows = [](Victim& v) {
    plan::Op &again = v.op(0, "R.s2.m0"), &forward = v.op(0, "F.s2.m0");
    const plan::BufferId running = v.ranks[0].buffer("running");
    again.writes.push_back(
        *std::find_if(forward.writes.begin(), forward.writes.end(),
                      [&](const plan::Access& write) { return write.buffer == running; }));
  };
  EXPECT_THAT(found_in(e, follows), Contains(Proof::recomputing));
  EXPECT_THAT(found_in(strategy::synchronized(e), follows), Contains(Proof::recomputing));
  EXPECT_THAT(
      found_in(strategy::synchronized(e), [](Victim& v) { v.op(0, "R.s2.m0").reads.pop_back(); }),
      Contains(Proof::meaning))
      << "without the sums of all";
}

TEST(Recomputing, in_a_stage_that_is_broken_is_found) {
  Experiment e = strategy::piped(chain(2), PipelineSchedule::gpipe, 3);
  e.training.recompute_segments = 9;
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"4", 1}};
  const auto found = [&](const std::function<void(Victim&)>& breaks) {
    return found_in(e, breaks);
  };
  // Left out: the place holds the output of the micro-batch that came last.
  EXPECT_THAT(found([](Victim& v) { v.remove(1, v.first(1, is("R.s3.m0"))); }),
              testing::AllOf(Contains(Proof::passing), Contains(Proof::recomputing)));
  // Uses the input of another micro-batch, which is adjacent in memory.
  EXPECT_THAT(found([](Victim& v) {
                plan::Op& op = v.op(1, "R.s2.m0");
                op.reads.front().first += op.reads.front().count;
              }),
              Contains(Proof::recomputing));
  // Recomputes another micro-batch than backward needs.
  EXPECT_THAT(found([](Victim& v) { v.op(1, "R.s3.m0").micro = 1; }), Contains(Proof::recomputing));
}

TEST(Recomputing, of_a_unit_that_is_not_gathered_is_found) {
  Experiment e = chain(2);
  e.strategy.kind = StrategyKind::fsdp;
  e.strategy.bucket_bytes = 2 * 4 * 42;
  e.training.accumulation_steps = 1;
  e.strategy.fsdp.prefetch = 0;
  const auto early = [](Victim& v) { move_before(v, 0, "R.s0.m0", "LOSS.m0"); };
  Victim victim(strategy::coarse_plan(strategy::resolved(e)).value());
  ASSERT_TRUE(examine(victim.plan()).findings.empty());
  early(victim);
  EXPECT_FALSE(failed(victim).empty());
}

}  // namespace
}  // namespace trainyard::check
