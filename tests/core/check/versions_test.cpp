// SPDX-License-Identifier: GPL-3.0-or-later
// Plans that update after every micro-batch: all that strategies make are proved, and what is
// broken in one is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/experiment/stages.h"
#include "core/plan/text.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::PipelineSchedule;
using testing::Contains;

experiment::Experiment any_model_of_versions(int ranks) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return strategy::small_rows(ranks);
    case 1: return strategy::small_gpt(ranks);
    case 2: return strategy::small_images(ranks);
    default: return strategy::small_normalized_images(ranks);
  }
}

RC_GTEST_PROP(Versions, of_any_model_are_proved, ()) {
  const int ranks = *rc::gen::inRange(1, 5);
  experiment::Experiment e = strategy::piped(any_model_of_versions(ranks),
                                             PipelineSchedule::pipedream, *rc::gen::inRange(1, 9));
  e.training.recompute_segments = *rc::gen::inRange(0, 5);
  if (!experiment::validate(e, ".").empty()) return;
  const auto made = strategy::resolved(e);
  for (const auto& plan : {strategy::coarse_plan(made), strategy::make_plan(made)}) {
    const Report report = examine(plan.value());
    RC_ASSERT(base::to_string(report.problems()) == "");
    RC_ASSERT(std::find(report.proofs.begin(), report.proofs.end(), Proof::versions) !=
              report.proofs.end());
  }
}

// The plan of three ranks, broken in one way.
std::set<Proof> found_in_versions(const std::function<void(Victim&)>& breaks) {
  Victim victim(strategy::make_plan(strategy::resolved(strategy::piped(
                                        strategy::small_rows(3), PipelineSchedule::pipedream, 6)))
                    .value());
  breaks(victim);
  return failed(victim);
}

// The middle rank, whose micro-batches come back after one other.
TEST(Versions, that_differ_from_the_forward_pass_are_found) {
  EXPECT_TRUE(found_in_versions([](Victim&) {}).empty());
  const auto back = [](Victim& v) -> plan::Op& {
    return v.train(1)[v.first(1, [&](const plan::Op& op) {
      return op.kind == plan::OpKind::backward_input && op.micro == 2 &&
             std::any_of(op.reads.begin(), op.reads.end(), [&](const plan::Access& read) {
               return read.buffer == v.ranks[1].buffer("stash");
             });
    })];
  };
  const auto stashed = [](Victim& v, plan::Op& op) -> plan::Access& {
    return *std::find_if(op.reads.begin(), op.reads.end(), [&](const plan::Access& read) {
      return read.buffer == v.ranks[1].buffer("stash");
    });
  };
  // It goes back by the newest.
  EXPECT_THAT(found_in_versions([&](Victim& v) {
                plan::Op& op = back(v);
                const plan::Op& forward = v.op(1, "F.s" + std::to_string(op.segment) + ".m2");
                stashed(v, op) = *std::find_if(forward.reads.begin(), forward.reads.end(),
                                               [&](const plan::Access& read) {
                                                 return read.buffer == v.ranks[1].buffer("params");
                                               });
              }),
              Contains(Proof::versions));
  // The requested version is stashed too late, or never.
  EXPECT_THAT(found_in_versions([&](Victim& v) {
                const int segment = back(v).segment;
                v.remove(1, v.first(1, is("STASH.s" + std::to_string(segment) + ".m1")));
              }),
              Contains(Proof::versions));
  EXPECT_THAT(found_in_versions([&](Victim& v) {
                const int segment = back(v).segment;
                const std::size_t stash =
                    v.first(1, is("STASH.s" + std::to_string(segment) + ".m1"));
                std::swap(v.train(1)[stash], v.train(1)[stash + 1]);
              }),
              Contains(Proof::versions));
}

TEST(Versions, with_updates_out_of_order_are_found) {
  const auto first_update = [](Victim& v, int micro) {
    return v.first(1, [micro](const plan::Op& op) {
      return op.kind == plan::OpKind::update && op.micro == micro;
    });
  };
  EXPECT_THAT(found_in_versions([&](Victim& v) { v.remove(1, first_update(v, 3)); }),
              Contains(Proof::versions));
  EXPECT_THAT(found_in_versions([&](Victim& v) { v.repeat(1, first_update(v, 3)); }),
              Contains(Proof::versions));
  EXPECT_THAT(found_in_versions([&](Victim& v) { v.remove(1, v.first(1, is("RATE.m3"))); }),
              Contains(Proof::versions));
  // One by the gradient of another micro-batch: that of its own comes later.
  EXPECT_THAT(found_in_versions([&](Victim& v) {
                const int segment = v.train(1)[first_update(v, 3)].segment;
                const std::size_t weight = v.first(1, is("W.s" + std::to_string(segment) + ".m3"));
                std::rotate(
                    v.train(1).begin() + static_cast<std::ptrdiff_t>(weight),
                    v.train(1).begin() + static_cast<std::ptrdiff_t>(weight) + 1,
                    v.train(1).begin() + static_cast<std::ptrdiff_t>(first_update(v, 3)) + 1);
              }),
              Contains(Proof::meaning));
}

}  // namespace
}  // namespace trainyard::check
