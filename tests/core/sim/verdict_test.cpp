// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/verdict.h"

#include <gmock/gmock.h>

#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

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
  EXPECT_EQ(verdict.sentence, "4 devices are 3.1x faster than one");
}

TEST(verdict, four_devices_of_which_most_run_out_of_samples) {
  Outcome plan = four_devices(2e-3, 1.5e-3, link(1000, 1e9));
  plan.full_batch_seconds = 6.1e-3;
  const Verdict verdict = judge(plan, one_device(6.2e-3));
  EXPECT_LT(verdict.speedup, 1.05);
  EXPECT_EQ(verdict.sentence,
            "4 devices are no faster than one, because ranks run out of samples: a global batch "
            "takes 2 ms while all have some, 6.1 ms over an epoch");
}

TEST(verdict, of_compression_that_costs_more_than_it_saves_names_the_encoding) {
  Outcome plan = four_devices(6e-3, 5e-3, link(100'000, 1e9));  // 0.8 ms on the link
  for (RankUse& rank : plan.ranks) rank.encoding_seconds = 4e-3;
  EXPECT_EQ(judge(plan, one_device(4e-3)).sentence,
            "one device would be 1.5x faster here, because each step encodes what it sends and "
            "decodes what arrives, 4 ms, against 3 ms of compute saved");
}

TEST(verdict, of_a_straggler_names_it_and_not_the_links) {
  Outcome plan = four_devices(8e-3, 1e-3, link(100'000, 1e9));
  plan.ranks[2].compute_seconds = 7e-3;
  EXPECT_EQ(judge(plan, one_device(4e-3)).sentence,
            "one device would be 2.0x faster here, because all wait for rank 2, which computes for "
            "7 ms of each step; the fastest rank for 1 ms");
  plan.bounds.back() = link(1'000'000, 1e9);
  EXPECT_THAT(judge(plan, one_device(4e-3)).sentence, HasSubstr("because each step moves 1 MB"))
      << "8 ms, against 6 of waiting for the straggler";
}

TEST(verdict, of_a_straggler_names_it_though_some_run_out_of_samples) {
  Outcome plan = four_devices(8e-3, 1e-3, link(100'000, 1e9));
  plan.ranks[0].compute_seconds = 7e-3;
  plan.full_batch_seconds = 9e-3;
  EXPECT_THAT(judge(plan, one_device(4e-3)).sentence, HasSubstr("because all wait for rank 0"));
}

TEST(verdict, says_that_what_an_engine_takes_is_an_estimate) {
  Outcome plan = four_devices(2e-3, 1.5e-3, link(1000, 1e9));
  plan.engine = "gloo";
  EXPECT_EQ(judge(plan, one_device(6.2e-3)).sentence,
            "4 devices are 3.1x faster than one (what gloo takes is an estimate)");
}

TEST(verdict, one_device_that_is_faster_because_links_are_slow) {
  const Verdict verdict = judge(four_devices(5.4e-3, 1.8e-3, link(610'000, 1e9)), one_device(3e-3));
  EXPECT_EQ(verdict.sentence,
            "one device would be 1.8x faster here, because each step moves 610 kB over 1 Gbit/s "
            "links, 4.88 ms, against 1.2 ms of compute saved");
}

TEST(verdict, one_device_that_is_faster_because_of_latency) {
  const Verdict verdict =
      judge(four_devices(8e-3, 1e-3,
                         {.kind = BoundKind::latency, .seconds = 6e-3, .rank = 0, .rounds = 6}),
            one_device(4e-3));
  EXPECT_EQ(verdict.sentence,
            "one device would be 2.0x faster here, because each step sends 6 messages one after "
            "another, 6 ms, against 3 ms of compute saved");
}

TEST(verdict, one_device_that_is_faster_because_adding_takes_long) {
  Outcome plan = four_devices(8e-3, 1e-3, link(1000, 1e12));
  plan.ranks[2].adding_seconds = 5e-3;
  EXPECT_THAT(
      judge(plan, one_device(4e-3)).sentence,
      HasSubstr("because each step adds up what arrives, 5 ms, against 3 ms of compute saved"));
}

TEST(verdict, parts_that_cost_more_only_together_are_added_up) {
  const Outcome plan = four_devices(
      2.17e-3, 0.5e-3, link(1'000'000, 10e9));  // 1.67 ms beside computing, 0.8 of it on the link
  EXPECT_EQ(judge(plan, one_device(1.5e-3)).sentence,
            "one device would be 1.4x faster here, because each step spends 1.67 ms on more than "
            "computing, 800 µs of it moving 1 MB over 10 Gbit/s links, "
            "against 1 ms of compute saved");
}

TEST(verdict, a_difference_that_a_prediction_cannot_tell_is_none) {
  EXPECT_THAT(judge(four_devices(4e-3, 1e-3, link(375'000, 1e9)), one_device(4.1e-3)).sentence,
              StartsWith("4 devices are no faster than one, because each step moves 375 kB"));
}

TEST(verdict, no_compute_saved_is_said) {
  EXPECT_THAT(judge(four_devices(8e-3, 4e-3, link(375'000, 1e9)), one_device(4e-3)).sentence,
              EndsWith("against no time of compute saved"));
}

TEST(verdict, one_device_that_cannot_hold_the_batch_is_no_alternative) {
  Outcome large = one_device(1e-3);
  large.ranks[0].peak_memory_bytes = 9'100'000;
  EXPECT_EQ(judge(four_devices(5e-3, 1e-3, link(1000, 1e9)), large).sentence,
            "4 devices are needed: one would need 9.1 MB of the 4 MB that its device has");
}

TEST(verdict, a_plan_that_does_not_fit_is_said_first) {
  Outcome plan = four_devices(1e-3, 1e-3, link(1000, 1e9));
  plan.ranks[3].peak_memory_bytes = 5'000'000;
  EXPECT_EQ(judge(plan, one_device(5e-3)).sentence,
            "this does not fit: rank 3 needs 5 MB of the 4 MB that its device has");
}

TEST(verdict, one_device_alone_says_its_time) {
  EXPECT_EQ(judge(one_device(4e-3), one_device(4e-3)).sentence, "one device takes 4 ms a step");
}

// From plans: four devices do a quarter of the arithmetic each, and reduce 400 kB.
Verdict of_plans(double bandwidth_bits_per_second) {
  const Replica four{.ranks = 4, .elements = 100'000, .flops = 1'000'000},
      one{.ranks = 1, .elements = 100'000, .flops = 4'000'000};
  const topology::Network network(
      star({.hosts = 4, .bandwidth_bits_per_second = bandwidth_bits_per_second}));
  return *judge(replica(four), network, replica(one), network);
}

TEST(verdict, of_plans_turns_with_the_bandwidth) {
  const Verdict fast = of_plans(100e9), slow = of_plans(100e6);
  EXPECT_GT(fast.speedup, 1.5);
  EXPECT_THAT(fast.sentence, HasSubstr("4 devices are "));
  EXPECT_LT(slow.speedup, 0.5);
  // 2 * 3/4 * 400 kB; one device computes 12 ms and four 3 ms.
  EXPECT_THAT(slow.sentence, HasSubstr("because each step moves 600 kB over 100 Mbit/s links, 48 "
                                       "ms, against 9 ms of compute saved"));
}

TEST(verdict, a_plan_that_cannot_be_simulated_is_a_problem) {
  const topology::Network network(star({.hosts = 2}));
  const auto verdict = judge(replica({.ranks = 4}), network, replica({.ranks = 1}), network);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().id, "too_few_devices");
}

}  // namespace
}  // namespace trainyard::sim
