// SPDX-License-Identifier: GPL-3.0-or-later
// Plans that accumulate or average weights, each broken in one way: what was to be proved fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using collective::Algorithm;
using plan::Op;
using plan::OpKind;
using testing::HasSubstr;

experiment::Experiment accumulating(int ranks) {
  auto e = strategy::small(ranks);
  e.training.accumulation_steps = 3;
  return e;
}
experiment::Experiment averaging_weights(int ranks) {
  auto e = strategy::small(ranks);
  e.strategy.average = experiment::AveragedQuantity::weights;
  return e;
}
Victim expanded_over_ring(const experiment::Experiment& e) {
  return coarse(e).expanded(Algorithm::ring);
}

void forget_reading_the_gradient(Victim& victim, std::size_t rank, const std::string& token) {
  const plan::BufferId gradient = victim.ranks[rank].buffer("grads");
  ASSERT_EQ(std::erase_if(victim.op(rank, token).reads,
                          [&](const plan::Access& access) { return access.buffer == gradient; }),
            1u);
}

TEST(MicroSteps, of_valid_plans_are_proved) {
  for (const int ranks : {1, 2, 3}) {
    EXPECT_EQ(first_finding(coarse(accumulating(ranks))), "");
    EXPECT_EQ(first_finding(expanded_over_ring(accumulating(ranks))), "");
    EXPECT_EQ(first_finding(coarse(averaging_weights(ranks))), "");
    EXPECT_EQ(first_finding(expanded_over_ring(averaging_weights(ranks))), "");
  }
}

// If two segments share a table, the sum contains the gradients of both, with or without
// micro-steps.
TEST(MicroSteps, with_an_incomplete_tied_table_violate_meaning) {
  experiment::Experiment once = strategy::small_tied_gpt(2), often = once;
  often.training.accumulation_steps = 2;
  for (const auto& e : {once, often}) {
    EXPECT_EQ(first_finding(coarse(e)), "");
    EXPECT_EQ(first_finding(expanded_over_ring(e)), "");
    Victim victim = coarse(e);
    forget_reading_the_gradient(victim, 0, "W.s0.m0");
    EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
    EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op UPD.s0");
  }
}

// Also on one device, where nothing is reduced.
TEST(MicroSteps, that_overwrite_instead_of_adding_violate_meaning) {
  for (const int ranks : {1, 3}) {
    Victim victim = coarse(accumulating(ranks));
    forget_reading_the_gradient(victim, 0, "W.s1.m1");
    EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
    EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op UPD.s1");
    EXPECT_THAT(text_of_first_finding(victim), HasSubstr("grads[48:76]"));
  }
}

TEST(MicroSteps, that_start_by_adding_to_the_previous_step_violate_meaning) {
  Victim victim = coarse(accumulating(1));
  Op& first = victim.op(0, "W.s2.m0");
  first.reads.push_back(first.writes[0]);
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op UPD.s2");
}

TEST(MicroSteps, that_are_added_twice_violate_meaning) {
  Victim victim = expanded_over_ring(accumulating(2));
  victim.op(1, "W.s0.m2").micro = 1;
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 1, program train, op UPD.s0");
}

TEST(MicroSteps, that_are_missing_violate_meaning) {
  Victim victim = coarse(accumulating(1));
  victim.remove(0, victim.first(0, is("W.s2.m1")));
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 0, program train, op UPD.s2");
}

TEST(MicroSteps, that_load_samples_before_the_previous_ones_are_read_are_a_race) {
  Victim victim = expanded_over_ring(accumulating(2));
  victim.op(0, "LOAD.m1").after.clear();
  EXPECT_EQ(failed(victim), ProofSet{Proof::races});
  EXPECT_EQ(first_finding(victim), "proof_race at rank 0, program train, op F.s0.m0");
  EXPECT_THAT(text_of_first_finding(victim), HasSubstr("LOAD.m1"));
}

TEST(MicroSteps, that_start_before_their_samples_are_loaded_are_a_race) {
  Victim victim = expanded_over_ring(accumulating(2));
  victim.op(1, "F.s0.m2").after.back().sequence = 2;
  EXPECT_EQ(failed(victim), ProofSet{Proof::races});
}

// A reduction that began before the last micro-step.
TEST(MicroSteps, that_are_reduced_too_early_are_a_race) {
  Victim victim = coarse(accumulating(2));
  auto& after = victim.op(0, "AR.b0").after;
  after.back().sequence -= 10;
  EXPECT_TRUE(failed(victim).contains(Proof::races));
}

TEST(MicroSteps, use_the_buffers_of_one_step_and_one_for_the_largest_segment) {
  const auto memory = [](const experiment::Experiment& e) {
    return examine(strategy::make_plan(strategy::resolved(e)).value()).memory.at(0);
  };
  auto whole = strategy::small(2), parts = strategy::small(2);
  whole.training.batch_per_rank = 64;
  parts.training.batch_per_rank = 8;
  parts.training.accumulation_steps = 8;
  EXPECT_EQ(memory(parts).buffers, memory(strategy::small(2)).buffers + 4 * 48);
  EXPECT_LT(memory(parts).peak, memory(whole).peak / 2);
}

TEST(WeightAverage, of_unweighted_weights_violates_meaning) {
  for (Victim victim : {coarse(averaging_weights(3)), expanded_over_ring(averaging_weights(3))}) {
    victim.remove(1, victim.first(1, is("WEIGH.s1")));
    EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  }
}

TEST(WeightAverage, of_weights_that_are_weighted_twice_violates_meaning) {
  Victim victim = coarse(averaging_weights(2));
  victim.repeat(1, victim.first(1, is("WEIGH.s2")));
  EXPECT_EQ(failed(victim), ProofSet{Proof::meaning});
  EXPECT_EQ(first_finding(victim), "proof_meaning at rank 1, program train, op WEIGH.s2");
}

TEST(WeightAverage, that_no_rank_applies_violates_meaning) {
  Victim victim = coarse(averaging_weights(2));
  for (std::size_t rank = 0; rank < 2; ++rank) victim.remove(rank, victim.first(rank, is("AR.b1")));
  EXPECT_TRUE(failed(victim).contains(Proof::meaning));
}

// Segment 1 hands its gradient on by its weights as they were, not as they are after the update.
TEST(WeightAverage, with_a_backward_pass_through_updated_weights_violates_meaning) {
  Victim victim = coarse(averaging_weights(2));
  auto& ops = victim.train(0);
  const std::size_t backward = victim.first(0, is("B.s1.m0")),
                    weigh = victim.first(0, is("WEIGH.s1"));
  std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(backward),
              ops.begin() + static_cast<std::ptrdiff_t>(backward) + 1,
              ops.begin() + static_cast<std::ptrdiff_t>(weigh) + 1);
  EXPECT_TRUE(failed(victim).contains(Proof::meaning));
}

TEST(WeightAverage, that_the_next_step_does_not_wait_for_is_a_race) {
  for (const char* token : {"F.s0.m0", "UPD.s0"}) {
    Victim victim = expanded_over_ring(averaging_weights(3));
    std::erase_if(victim.op(2, token).after,
                  [](const plan::Dependency& d) { return d.steps_back == 1; });
    EXPECT_EQ(failed(victim), ProofSet{Proof::races}) << token;
  }
}

}  // namespace
}  // namespace trainyard::check
