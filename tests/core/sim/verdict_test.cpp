// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/verdict.h"

#include <gmock/gmock.h>

#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// One device that computes for so long in a step.
Outcome one_device(double compute_seconds) {
  Outcome outcome;
  outcome.median_step_seconds = outcome.full_batch_seconds = compute_seconds;
  outcome.ranks = {{.peak_memory_bytes = 1'000'000,
                    .memory_bytes = 4'000'000,
                    .compute_seconds = compute_seconds}};
  outcome.bounds = {{.kind = BoundKind::device, .seconds = compute_seconds, .rank = 0}};
  return outcome;
}

Outcome four_devices(double step_seconds, double compute_seconds, const Bound& wire) {
  Outcome outcome = one_device(compute_seconds);
  outcome.median_step_seconds = outcome.full_batch_seconds = step_seconds;
  outcome.ranks.assign(4, outcome.ranks.front());
  outcome.bounds.push_back(wire);
  return outcome;
}

Bound link(std::int64_t bytes, double bandwidth) {
  return {.kind = BoundKind::edge,
          .seconds = static_cast<double>(bytes) * 8 / bandwidth,
          .bytes = bytes,
          .bandwidth_bits_per_second = bandwidth};
}

TEST(verdict, four_devices_that_are_faster) {
  const Verdict verdict = judge(four_devices(2e-3, 1.5e-3, link(1000, 1e9)), one_device(6.2e-3));
  EXPECT_DOUBLE_EQ(verdict.speedup, 3.1);
  EXPECT_EQ(verdict.ranks, 4);
  EXPECT_EQ(verdict.cause, VerdictCause::none);
  EXPECT_THAT(verdict.sentence, HasSubstr("3.1x"));
}

TEST(verdict, four_devices_that_mostly_run_out_of_samples) {
  Outcome plan = four_devices(2e-3, 1.5e-3, link(1000, 1e9));
  plan.full_batch_seconds = 6.1e-3;
  const Verdict verdict = judge(plan, one_device(6.2e-3));
  EXPECT_LT(verdict.speedup, 1.05);
  EXPECT_EQ(verdict.cause, VerdictCause::samples);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr(" 2 ms"), HasSubstr(" 6.1 ms")));
}

TEST(verdict, of_expensive_compression_names_the_encoding) {
  Outcome plan = four_devices(6e-3, 5e-3, link(100'000, 1e9));  // 0.8 ms on the link
  for (RankUse& rank : plan.ranks) rank.encoding_seconds = 4e-3;
  const Verdict verdict = judge(plan, one_device(4e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::encoding);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("1.5x"), HasSubstr(" 4 ms"), HasSubstr(" 3 ms")));
}

TEST(verdict, of_a_straggler_names_it_and_not_the_links) {
  Outcome plan = four_devices(8e-3, 1e-3, link(100'000, 1e9));
  plan.ranks[2].compute_seconds = 7e-3;
  const Verdict verdict = judge(plan, one_device(4e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::straggler);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("2.0x"), HasSubstr("rank 2"), HasSubstr(" 7 ms"),
                                      HasSubstr(" 1 ms")));
  plan.bounds.back() = link(1'000'000, 1e9);
  EXPECT_EQ(judge(plan, one_device(4e-3)).cause, VerdictCause::transfer)
      << "8 ms, and 6 ms of waiting for the straggler";
}

TEST(verdict, of_a_straggler_names_it_even_if_some_ranks_run_out_of_samples) {
  Outcome plan = four_devices(8e-3, 1e-3, link(100'000, 1e9));
  plan.ranks[0].compute_seconds = 7e-3;
  plan.full_batch_seconds = 9e-3;
  const Verdict verdict = judge(plan, one_device(4e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::straggler);
  EXPECT_THAT(verdict.sentence, HasSubstr("rank 0"));
}

TEST(verdict, marks_the_time_of_an_engine_as_an_estimate) {
  Outcome plan = four_devices(2e-3, 1.5e-3, link(1000, 1e9));
  plan.engine = "gloo";
  EXPECT_THAT(judge(plan, one_device(6.2e-3)).sentence,
              AllOf(HasSubstr("3.1x"), HasSubstr("gloo")));
}

TEST(verdict, one_device_that_is_faster_because_links_are_slow) {
  const Verdict verdict = judge(four_devices(5.4e-3, 1.8e-3, link(610'000, 1e9)), one_device(3e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::transfer);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("1.8x"), HasSubstr("610 kB"), HasSubstr("1 Gbit/s"),
                                      HasSubstr("4.88 ms"), HasSubstr("1.2 ms")));
}

TEST(verdict, one_device_that_is_faster_because_of_latency) {
  const Verdict verdict =
      judge(four_devices(8e-3, 1e-3,
                         {.kind = BoundKind::latency, .seconds = 6e-3, .rank = 0, .rounds = 6}),
            one_device(4e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::latency);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("2.0x"), HasSubstr("6 messages"),
                                      HasSubstr(" 6 ms"), HasSubstr(" 3 ms")));
}

TEST(verdict, one_device_that_is_faster_because_reduction_takes_long) {
  Outcome plan = four_devices(8e-3, 1e-3, link(1000, 1e12));
  plan.ranks[2].adding_seconds = 5e-3;
  const Verdict verdict = judge(plan, one_device(4e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::reduction);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr(" 5 ms"), HasSubstr(" 3 ms")));
}

TEST(verdict, adds_up_parts_that_cost_more_only_together) {
  const Outcome plan = four_devices(
      2.17e-3, 0.5e-3, link(1'000'000, 10e9));  // 1.67 ms beside computing, 0.8 of it on the link
  const Verdict verdict = judge(plan, one_device(1.5e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::transfer);
  EXPECT_THAT(verdict.sentence,
              AllOf(HasSubstr("1.4x"), HasSubstr("1.67 ms"), HasSubstr("800 µs"), HasSubstr("1 MB"),
                    HasSubstr("10 Gbit/s"), HasSubstr(" 1 ms")));
}

TEST(verdict, ignores_a_difference_within_the_prediction_error) {
  const Verdict verdict = judge(four_devices(4e-3, 1e-3, link(375'000, 1e9)), one_device(4.1e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::transfer);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("375 kB"), Not(HasSubstr("x faster"))));
}

TEST(verdict, reports_that_no_compute_is_saved) {
  EXPECT_THAT(judge(four_devices(8e-3, 4e-3, link(375'000, 1e9)), one_device(4e-3)).sentence,
              Not(HasSubstr(" 0 ")));
}

TEST(verdict, one_device_that_cannot_hold_the_batch_is_no_alternative) {
  Outcome large = one_device(1e-3);
  large.ranks[0].peak_memory_bytes = 9'100'000;
  const Verdict verdict = judge(four_devices(5e-3, 1e-3, link(1000, 1e9)), large);
  EXPECT_EQ(verdict.cause, VerdictCause::memory);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("9.1 MB"), HasSubstr(" 4 MB")));
}

TEST(verdict, reports_a_plan_that_does_not_fit_first) {
  Outcome plan = four_devices(1e-3, 1e-3, link(1000, 1e9));
  plan.ranks[3].peak_memory_bytes = 5'000'000;
  const Verdict verdict = judge(plan, one_device(5e-3));
  EXPECT_EQ(verdict.cause, VerdictCause::memory);
  EXPECT_THAT(verdict.sentence, AllOf(HasSubstr("rank 3"), HasSubstr(" 5 MB"), HasSubstr(" 4 MB")));
}

TEST(verdict, of_one_device_reports_its_time) {
  EXPECT_THAT(judge(one_device(4e-3), one_device(4e-3)).sentence, HasSubstr(" 4 ms"));
}

// Verdict of plans: four devices do a quarter of the arithmetic each, and reduce 400 kB.
Verdict of_plans(double bandwidth_bits_per_second) {
  const Replica four{.ranks = 4, .elements = 100'000, .flops = 1'000'000},
      one{.ranks = 1, .elements = 100'000, .flops = 4'000'000};
  const topology::Network network(
      star({.hosts = 4, .bandwidth_bits_per_second = bandwidth_bits_per_second}));
  return *judge(replica(four), network, replica(one), network);
}

TEST(verdict, of_plans_depends_on_the_bandwidth) {
  const Verdict fast = of_plans(100e9), slow = of_plans(100e6);
  EXPECT_GT(fast.speedup, 1.5);
  EXPECT_EQ(fast.cause, VerdictCause::none);
  EXPECT_LT(slow.speedup, 0.5);
  // 2 * 3/4 * 400 kB; one device computes 12 ms and four 3 ms.
  EXPECT_EQ(slow.cause, VerdictCause::transfer);
  EXPECT_THAT(slow.sentence, AllOf(HasSubstr("600 kB"), HasSubstr("100 Mbit/s"),
                                   HasSubstr(" 48 ms"), HasSubstr(" 9 ms")));
}

TEST(verdict, reports_a_plan_that_cannot_be_simulated) {
  const topology::Network network(star({.hosts = 2}));
  const auto verdict = judge(replica({.ranks = 4}), network, replica({.ranks = 1}), network);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().id, "too_few_devices");
}

}  // namespace
}  // namespace trainyard::sim
