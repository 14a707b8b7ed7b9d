// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of layers on several ranks: all that strategies make are proved, and what is broken in one
// is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/experiment/stages.h"
#include "core/plan/text.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::PipelineSchedule;
using experiment::StrategyKind;

// Any partition by hand that gives every rank a layer.
std::vector<experiment::StagePlace> any_places(const model::Model& model, int ranks) {
  std::vector<int> owners;
  for (std::size_t s = 0; s < model.segments.size(); ++s) {
    const int tied = model.segments[s].tied_to;
    owners.push_back(tied >= 0                     ? owners[static_cast<std::size_t>(tied)]
                     : static_cast<int>(s) < ranks ? static_cast<int>(s)
                                                   : *rc::gen::inRange(0, ranks));
  }
  std::vector<experiment::StagePlace> places;
  for (const model::Stage& stage : model::stages_of(owners))
    places.push_back({experiment::place_name(model.segments[static_cast<std::size_t>(stage.first)]),
                      stage.rank});
  return places;
}

experiment::Experiment any_model_to_pipe(int ranks) {
  switch (*rc::gen::inRange(0, 5)) {
    case 0: return strategy::small_rows(ranks);
    case 1: return strategy::small_gpt(ranks);
    case 2: return strategy::small_tied_gpt(ranks);
    case 3: return strategy::small_images(ranks);
    default: return strategy::small_normalized_images(ranks);
  }
}

model::Model model_of(experiment::Experiment e) {
  e.topology.hosts = {tests::drawn_host("host", 1)};
  e.strategy.kind = StrategyKind::one_device;
  return strategy::resolved(e).model;
}

RC_GTEST_PROP(StagePlans, of_any_model_with_any_partition_are_proved, ()) {
  const int ranks = *rc::gen::inRange(2, 5);
  experiment::Experiment e = strategy::piped(
      any_model_to_pipe(ranks), *rc::gen::element(PipelineSchedule::gpipe, PipelineSchedule::naive),
      *rc::gen::inRange(1, 5));
  e.training.clip_norm = *rc::gen::element(0.0, 1.0);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = any_places(model_of(e), ranks);
  const auto made = strategy::resolved(e);
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(made).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::make_plan(made).value())) == "");
}

TEST(StagePlans, of_every_schedule_are_proved) {
  for (const auto schedule :
       {PipelineSchedule::naive, PipelineSchedule::gpipe,
        PipelineSchedule::one_forward_one_backward, PipelineSchedule::interleaved_1f1b,
        PipelineSchedule::zb_h1, PipelineSchedule::pipedream})
    for (const int ranks : {1, 2, 4})
      for (const int micro_batches : {ranks, 3 * ranks}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(schedule)) + ": " + std::to_string(ranks) +
                     " ranks, " + std::to_string(micro_batches));
        EXPECT_EQ(base::to_string(check(strategy::make_plan(strategy::resolved(strategy::piped(
                                                                strategy::small_rows(ranks),
                                                                schedule, micro_batches)))
                                            .value())),
                  "");
      }
}

// The plan of three ranks, broken in one way.
std::set<Proof> found_in_stages(const std::function<void(Victim&)>& breaks) {
  Victim victim(
      strategy::make_plan(strategy::resolved(strategy::piped(
                              strategy::small(3), PipelineSchedule::one_forward_one_backward)))
          .value());
  breaks(victim);
  return failed(victim);
}

void in_place_of(plan::Op& op, std::int64_t first, plan::BufferId buffer) {
  for (auto* accesses : {&op.reads, &op.writes})
    for (plan::Access& access : *accesses)
      if (access.buffer == buffer) access.first = first;
}

TEST(StagePlans, that_are_broken_are_found) {
  using testing::Contains;
  EXPECT_TRUE(found_in_stages([](Victim&) {}).empty());
  // A layer reads the output of another micro-batch, which lies beside its own.
  EXPECT_THAT(found_in_stages([](Victim& v) {
                in_place_of(v.op(1, "F.s1.m1"), 0, v.ranks[1].buffer("act.s0"));
              }),
              Contains(Proof::passing));
  // A micro-batch is left out on its way back.
  EXPECT_THAT(found_in_stages([](Victim& v) {
                v.remove(
                    1, v.first(1, [](const plan::Op& op) { return plan::token(op) == "B.s1.m2"; }));
              }),
              Contains(Proof::passing));
  EXPECT_THAT(found_in_stages([](Victim& v) {
                v.remove(
                    1, v.first(1, [](const plan::Op& op) { return plan::token(op) == "W.s1.m3"; }));
              }),
              Contains(Proof::passing));
  // Two outputs change places in what is sent.
  EXPECT_THAT(found_in_stages([](Victim& v) {
                in_place_of(v.op(0, "SEND.b0.t0.c0>r1"), 18, v.ranks[0].buffer("act.s0"));
                in_place_of(v.op(0, "SEND.b1.t0.c0>r1"), 0, v.ranks[0].buffer("act.s0"));
              }),
              Contains(Proof::passing));
  // Sent data are overwritten before the receiver has them.
  EXPECT_THAT(found_in_stages([](Victim& v) { v.op(0, "F.s0.m3").after.clear(); }),
              Contains(Proof::races));
  // An update does not see all micro-batches.
  EXPECT_THAT(found_in_stages([](Victim& v) {
                plan::Op& last = v.op(2, "W.s2.m3");
                std::erase_if(last.reads, [&](const plan::Access& read) {
                  return read.buffer == v.ranks[2].buffer("grads");
                });
              }),
              Contains(Proof::meaning));
}

// The sum in segment 5 takes the output of segment 0 past another rank: the gradient at it has two
// parts.
TEST(StagePlans, with_an_incomplete_gradient_are_found) {
  experiment::Experiment e = strategy::piped(strategy::small_rows(3), PipelineSchedule::gpipe);
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = {{"0", 0}, {"1", 1}, {"5", 2}};
  Victim victim(strategy::make_plan(strategy::resolved(e)).value());
  ASSERT_TRUE(examine(victim.plan()).findings.empty());
  plan::Op& adds = victim.op(1, "B.s1.m0");
  std::erase_if(adds.reads, [&](const plan::Access& read) {
    return read.buffer == victim.ranks[1].buffer("grad.s0");
  });
  const auto findings = examine(victim.plan()).findings;
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(located(findings[0].problem), "proof_passing at rank 0, program train, op W.s0.m0");
  EXPECT_THAT(findings[0].problem.what, testing::HasSubstr("grad.s0"));
}

}  // namespace
}  // namespace trainyard::check
