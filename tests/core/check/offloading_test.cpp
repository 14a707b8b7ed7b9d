// SPDX-License-Identifier: GPL-3.0-or-later
// Plans with offloading: all plans of the strategies are proved, and faults in a plan are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/experiment/fields.h"
#include "core/plan/text.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::Experiment;
using experiment::OffloadTarget;
using experiment::StrategyKind;
using plan::OpKind;
using testing::Contains;

Experiment any_model_to_offload(int ranks) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return strategy::small_rows(ranks);
    case 1: return strategy::small_gpt(ranks);
    case 2: return strategy::small_tied_gpt(ranks);
    default: return strategy::small_normalized_images(ranks);
  }
}

RC_GTEST_PROP(Offloading, of_any_model_with_any_strategy_is_proved_and_reads_back, ()) {
  const int ranks = *rc::gen::inRange(2, 4);
  Experiment e = any_model_to_offload(ranks);
  e.strategy.kind = *rc::gen::element(StrategyKind::mirrored, StrategyKind::ddp, StrategyKind::fsdp,
                                      StrategyKind::local_sgd, StrategyKind::gossip,
                                      StrategyKind::tensor_parallel, StrategyKind::pipeline,
                                      StrategyKind::data_parallel);
  e.strategy.fsdp.shard = *rc::gen::element(experiment::Shard::full, experiment::Shard::gradients,
                                            experiment::Shard::optimizer);
  e.strategy.bucket_bytes = *rc::gen::element(100.0, 1000.0, 1e9);
  e.training.accumulation_steps = e.strategy.kind == StrategyKind::data_parallel ? 1 : ranks;
  e.training.recompute_segments = *rc::gen::inRange(0, 5);
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  e.training.swap.activations =
      *rc::gen::element(OffloadTarget::nowhere, OffloadTarget::host, OffloadTarget::disk);
  e.training.swap.optimizer = *rc::gen::element(OffloadTarget::host, OffloadTarget::disk);
  if (!experiment::validate(e, ".").empty()) return;
  const experiment::Resolved resolved = strategy::resolved(e);
  for (const auto& plan : {strategy::coarse_plan(resolved), strategy::make_plan(resolved)}) {
    const Report report = examine(plan.value());
    RC_ASSERT(base::to_string(report.problems()) == "");
    RC_ASSERT(std::find(report.proofs.begin(), report.proofs.end(), Proof::offloading) !=
              report.proofs.end());
  }
  const std::string text = plan::to_text(strategy::coarse_plan(resolved).value());
  RC_ASSERT(plan::to_text(plan::parse(text).value()) == text);
}

// Six linear layers, in two micro-steps.
Experiment chain() {
  using model::LayerKind;
  Experiment e = strategy::small(1);
  e.strategy.kind = StrategyKind::one_device;
  e.model.layers.clear();
  for (int i = 0; i < 5; ++i)
    e.model.layers.insert(e.model.layers.end(), {{LayerKind::linear, 6}, {LayerKind::tanh, 0}});
  e.model.layers.push_back({LayerKind::linear, 0});
  e.training.accumulation_steps = 2;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  e.training.swap.activations = e.training.swap.optimizer = OffloadTarget::host;
  return e;
}

std::set<Proof> found_in_offloading(const std::function<void(Victim&)>& breaks) {
  Victim victim(strategy::make_plan(strategy::resolved(chain())).value());
  EXPECT_EQ(base::to_string(examine(victim.plan()).problems()), "");
  breaks(victim);
  return failed(victim);
}

void waits_for_no_copy(Victim& victim, const std::string& token) {
  std::erase_if(victim.op(0, token).after, [&](const plan::Dependency& d) {
    return victim.ranks[0].lanes[d.lane.index()].kind == plan::LaneKind::copy;
  });
}

TEST(Offloading, of_outputs_that_is_broken_is_found) {
  // No op waits for the fetch. The next layer in the forward pass requested it first.
  EXPECT_THAT(found_in_offloading([](Victim& v) { waits_for_no_copy(v, "W.s2.m0"); }),
              Contains(Proof::races));
  // Offloads an output before it is computed.
  EXPECT_THAT(found_in_offloading([](Victim& v) { v.op(0, "OUT.s0.m0").after = {}; }),
              Contains(Proof::races));
  // Fetches data offloaded in another micro-step, or by another layer.
  EXPECT_THAT(found_in_offloading([](Victim& v) { v.remove(0, v.first(0, is("OUT.s1.m1"))); }),
              Contains(Proof::offloading));
  EXPECT_THAT(
      found_in_offloading([](Victim& v) { v.op(0, "IN.s1.m0").reads = v.op(0, "IN.s0.m0").reads; }),
      Contains(Proof::offloading));
  // Into another's place, which is still asked for.
  EXPECT_THAT(found_in_offloading(
                  [](Victim& v) { v.op(0, "IN.s1.m0").writes = v.op(0, "IN.s2.m0").writes; }),
              Contains(Proof::offloading));
}

TEST(Offloading, of_moments_that_is_broken_is_found) {
  EXPECT_THAT(found_in_offloading([](Victim& v) { waits_for_no_copy(v, "UPD.s3"); }),
              Contains(Proof::races));
  // They are not put back, or are not brought.
  EXPECT_THAT(found_in_offloading([](Victim& v) { v.remove(0, v.first(0, is("OUT.s3"))); }),
              Contains(Proof::offloading));
  EXPECT_THAT(found_in_offloading([](Victim& v) { v.remove(0, v.first(0, is("IN.s1"))); }),
              Contains(Proof::offloading));
  // The buffer of another layer, which has its own.
  EXPECT_THAT(found_in_offloading([](Victim& v) {
                v.op(0, "IN.s3").reads = v.op(0, "IN.s2").reads;
                v.op(0, "OUT.s3").writes = v.op(0, "OUT.s2").writes;
              }),
              Contains(Proof::offloading));
  // Put back before they are updated.
  EXPECT_THAT(found_in_offloading([](Victim& v) { v.op(0, "OUT.s3").after = {}; }),
              Contains(Proof::races));
}

TEST(Offloading, of_something_other_than_a_copy_is_found) {
  EXPECT_THAT(
      found_in_offloading([](Victim& v) { v.op(0, "OUT.s1.m0").writes.front().count -= 1; }),
      Contains(Proof::structure));
  EXPECT_THAT(found_in_offloading([](Victim& v) { v.op(0, "OUT.s1.m0").kind = OpKind::fetch; }),
              Contains(Proof::structure));
  EXPECT_THAT(found_in_offloading([](Victim& v) {
                v.op(0, "F.s1.m0").reads.front() = v.op(0, "OUT.s1.m0").writes.front();
              }),
              Contains(Proof::structure));
  EXPECT_THAT(
      found_in_offloading([](Victim& v) { v.op(0, "OUT.s1.m0").lane = v.op(0, "F.s1.m0").lane; }),
      Contains(Proof::structure));
}

}  // namespace
}  // namespace trainyard::check
