// SPDX-License-Identifier: GPL-3.0-or-later
// Steps whose time can be worked out by hand. Devices of the star do 1e9 flop/s and move 1e9 B/s.
#include "core/sim/simulator.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using collective::Algorithm;
using telemetry::EventKind;
using telemetry::Metric;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(simulator, one_device_takes_the_sum_of_its_ops) {
  const Replica shape{.ranks = 1, .segments = 3, .elements = 1000, .flops = 1'000'000};
  Options options;
  options.launch_seconds = 5e-6;
  const Simulated one = simulated(replica(shape), star({.hosts = 1}), options);
  // Load 40 B; forward 1 ms; backward 2 ms; update reads and writes 8 kB at 1 GB/s, 8 us. 10 ops
  // are launched.
  EXPECT_NEAR(one.outcome.first_step_seconds, 40e-9 + 3 * (1e-3 + 2e-3 + 8e-6) + 10 * 5e-6, kExact);
  EXPECT_EQ(one.outcome.step_wire_bytes(), 0);
  EXPECT_EQ(one.outcome.bubble_fraction, 0);
  EXPECT_EQ(one.outcome.bounds.front().kind, BoundKind::device);
  EXPECT_THAT(one.outcome.explain,
              AllOf(HasSubstr("d0 "), HasSubstr("9.07 ms of a total of 9.07 ms")));
}

TEST(simulator, op_takes_the_maximum_of_arithmetic_and_memory_time) {
  Replica shape{.ranks = 1, .elements = 1'000'000, .flops = 1};
  const Simulated memory = simulated(replica(shape), star({.hosts = 1}), bare());
  EXPECT_NEAR(memory.outcome.first_step_seconds, 40e-9 + 1e-9 + 4e-3 + 8e-3, kExact);
}

TEST(simulator, message_takes_latency_transfer_and_copy) {
  const Simulated one = simulated(messages(2, 1000, {{0, 1}}), star({.latency_seconds = 30e-6}));
  // 4 kB at 1 Gbit/s; copying reads and writes 4 kB at 1 GB/s.
  EXPECT_NEAR(one.outcome.first_step_seconds, 30e-6 + 32e-6 + 8e-6, kExact);
  ASSERT_EQ(one.outcome.wire.size(), 1U);
  EXPECT_EQ(one.outcome.wire[0].step_bytes, 4000);
}

TEST(simulator, empty_message_takes_its_latency) {
  EXPECT_NEAR(simulated(messages(2, 0, {{0, 1}}), star({.latency_seconds = 30e-6}))
                  .outcome.first_step_seconds,
              30e-6, kExact);
}

TEST(simulator, splits_a_link_between_two_messages) {
  const Simulated both = simulated(messages(3, 1000, {{0, 1}, {0, 2}}), star({.hosts = 3}));
  EXPECT_NEAR(both.outcome.first_step_seconds, 2 * 32e-6 + 8e-6, kExact)
      << "both use the link of h0";
}

TEST(simulator, directions_of_a_link_are_independent) {
  const Simulated both = simulated(messages(2, 1000, {{0, 1}, {1, 0}}), star({}));
  EXPECT_NEAR(both.outcome.first_step_seconds, 32e-6 + 8e-6, kExact);
}

TEST(simulator, ring_takes_two_n_minus_one_chunks_and_the_reduction) {
  for (const int n : {2, 3, 4, 8}) {
    const std::int64_t elements = 1000 * n;
    const Simulated ring = simulated(all_reduce(n, elements, Algorithm::ring), star({.hosts = n}));
    const double bytes = 4.0 * static_cast<double>(elements), chunk = bytes / n;
    // Adding reads what arrived and the own chunk and writes it; copying reads and writes.
    const double adding = (n - 1) * (3 * chunk + 2 * chunk) / 1e9;
    EXPECT_NEAR(ring.outcome.first_step_seconds, 2.0 * (n - 1) / n * bytes * 8 / 1e9 + adding,
                kExact)
        << n;
    EXPECT_NEAR(ring.outcome.ranks[0].adding_seconds, adding, kExact);
    EXPECT_NEAR(ring.outcome.ranks[0].crossing_seconds, ring.outcome.first_step_seconds - adding,
                kExact);
    EXPECT_EQ(ring.outcome.ranks[0].waiting_seconds, 0);
  }
}

TEST(simulator, ring_has_the_latency_once_per_round) {
  const double without = simulated(all_reduce(4, 4000, Algorithm::ring), star({.hosts = 4}))
                             .outcome.first_step_seconds;
  const double with =
      simulated(all_reduce(4, 4000, Algorithm::ring), star({.hosts = 4, .latency_seconds = 1e-3}))
          .outcome.first_step_seconds;
  EXPECT_NEAR(with - without, 6e-3, kExact);
}

TEST(simulator, direct_takes_two_rounds_of_all_chunks) {
  const int n = 4;
  const Simulated direct = simulated(all_reduce(n, 4000, Algorithm::direct),
                                     star({.hosts = n, .latency_seconds = 1e-3}));
  // A round sends 3 chunks of 4 kB over one link. Then a sum of 4 chunks is written, and later 3
  // are copied.
  const double round = 3 * 4000 * 8 / 1e9 + 1e-3;
  EXPECT_NEAR(direct.outcome.first_step_seconds, 2 * round + (5 * 4000 + 3 * 2 * 4000) / 1e9, 1e-11)
      << "a third of a link is rounded";
}

TEST(simulator, wire_bytes_equal_those_of_the_plan) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
    for (const int n : {2, 3, 5, 8}) {
      const plan::Plan plan = replica({.ranks = n,
                                       .segments = 2,
                                       .elements = 1003,
                                       .schedule = {3, 3, {}, 0},
                                       .method = algorithm});
      const Outcome outcome = simulated(plan, star({.hosts = n})).outcome;
      std::map<int, std::int64_t> sent, all;
      for (const WireBytes& pair : outcome.wire)
        sent[pair.from] += pair.step_bytes, all[pair.from] += pair.bytes;
      for (int rank = 0; rank < n; ++rank) {
        const plan::RankPlan one = plan.rank_plan(rank);
        EXPECT_EQ(sent[rank], collective::sent_bytes(one, one.programs[0]))
            << n << ", rank " << rank;
        EXPECT_EQ(all[rank], 3 * sent[rank]);
      }
    }
}

TEST(simulator, bus_carries_each_message_over_the_attachments_of_both_devices) {
  const Outcome outcome = simulated(messages(2, 1000, {{0, 1}}), one_host(2, 8e9, 10e-6)).outcome;
  ASSERT_EQ(outcome.edges.size(), 2U);
  EXPECT_TRUE(outcome.edges[0].forward);
  EXPECT_FALSE(outcome.edges[1].forward);
  for (const EdgeUse& use : outcome.edges) {
    EXPECT_EQ(use.bytes, 4000);
    EXPECT_NEAR(use.busy_fraction, 4e-6 / outcome.simulated_seconds, 1e-9);
  }
}

TEST(simulator, thread_that_computes_transfers_nothing_meanwhile) {
  // Two buckets of 4 kB between two ranks. Bytes cross while a backward op runs, but adding them up
  // waits for its end, as does every later round. The first update runs while bytes of the second
  // bucket cross.
  const Replica shape{.ranks = 2, .segments = 2, .elements = 1000, .flops = 1'000'000};
  const double step = simulated(replica(shape), star({}), bare()).outcome.first_step_seconds;
  const double update = 8e-6, compute = 40e-9 + 2 * (1e-3 + 2e-3 + update), cross = 16e-6,
               add = 6e-6, copy = 4e-6;
  EXPECT_NEAR(step, compute - update + (add + cross + copy) + (cross + add + cross + copy), kExact);
}

TEST(simulator, lanes_with_separate_engines_overlap_reduction_and_backward_pass) {
  const Replica shape{.ranks = 2, .segments = 4, .elements = 1000, .flops = 1'000'000};
  const double last_bucket = 2 * 16e-6 + 6e-6 + 4e-6;
  for (const LanesPerThread lanes : {LanesPerThread::one, LanesPerThread::paced}) {
    Options free = bare();
    free.lanes_per_thread = lanes;
    const double step = simulated(replica(shape), star({}), free).outcome.first_step_seconds;
    EXPECT_NEAR(step, 40e-9 + 4 * (1e-3 + 2e-3) + last_bucket + 8e-6, kExact)
        << "three updates are over before the last bucket is";
  }
}

TEST(simulator, metrics_of_a_step_add_up_to_it) {
  const Simulated two =
      simulated(replica({.ranks = 3, .segments = 3, .elements = 5000, .schedule = {4, 4, {}, 0}}),
                star({.hosts = 3, .latency_seconds = 1e-4}));
  std::map<std::pair<int, int>, double> rest;
  int steps = 0;
  for (const auto& [rank, event] : two.events) {
    if (event.kind != EventKind::metric) continue;
    const auto metric = static_cast<Metric>(event.subject);
    if (metric == Metric::step_seconds) rest[{rank, event.step}] += event.value, ++steps;
    if (metric == Metric::compute_seconds || metric == Metric::transfer_seconds ||
        metric == Metric::wait_seconds || metric == Metric::input_seconds)
      rest[{rank, event.step}] -= event.value;
  }
  EXPECT_EQ(steps, 12);
  for (const auto& [key, left] : rest) EXPECT_NEAR(left, 0, kExact);
}

TEST(simulator, reports_no_events_that_did_not_happen) {
  for (const auto& [rank, event] : simulated(replica({.schedule = {2, 2, {}, 0}}), star({})).events)
    if (event.kind == EventKind::metric) {
      EXPECT_THAT(
          static_cast<Metric>(event.subject),
          testing::AnyOf(Metric::step_seconds, Metric::compute_seconds, Metric::transfer_seconds,
                         Metric::wait_seconds, Metric::input_seconds, Metric::sent_payload_bytes,
                         Metric::received_payload_bytes));
    }
}

TEST(simulator, evaluation_runs_between_steps_and_is_not_counted) {
  Replica shape{.ranks = 1, .schedule = {4, 4, {}, 2}, .evaluations = 5};
  const Outcome with = simulated(replica(shape), star({.hosts = 1})).outcome;
  shape.schedule.evaluate_every_steps = 0;
  const Outcome without = simulated(replica(shape), star({.hosts = 1})).outcome;
  EXPECT_NEAR(with.evaluation_seconds, 5 * (1e-3 + 2 * 2e-6), kExact);
  EXPECT_NEAR(with.simulated_seconds - without.simulated_seconds, 2 * with.evaluation_seconds,
              1e-9);
  EXPECT_NEAR(with.median_step_seconds, without.median_step_seconds, 1e-6);
}

TEST(simulator, predicts_the_rest_of_the_run_from_the_steps_it_simulates) {
  const Replica shape{.ranks = 2, .schedule = {700, 9, {1}, 10}, .evaluations = 3};
  const plan::Plan plan = replica(shape);
  Options few, all;
  few.steps = 5;
  all.steps = 700;
  const Outcome predicted = simulated(plan, star({}), few).outcome,
                whole = simulated(plan, star({}), all).outcome;
  EXPECT_EQ(predicted.steps, 5);
  EXPECT_GT(predicted.tail_seconds, 0);
  EXPECT_NEAR(predicted.evaluation_seconds, whole.evaluation_seconds, kExact);
  EXPECT_NEAR(predicted.predicted_seconds, whole.simulated_seconds, 1e-3 * whole.simulated_seconds);
  EXPECT_EQ(predicted.predicted_wire_bytes, 700 * 2 * 4000);
  EXPECT_EQ(whole.predicted_seconds, whole.simulated_seconds);
  EXPECT_EQ(whole.predicted_wire_bytes, predicted.predicted_wire_bytes);
  EXPECT_NEAR(predicted.predicted_samples_per_second, 2 / predicted.median_step_seconds, 1e-6);
}

TEST(simulator, simulates_fewer_steps_of_plans_with_very_many_ops) {
  EXPECT_EQ(automatic_steps(all_reduce(4, 4000, Algorithm::ring)), 20);
  // Each rank sends and receives in 2 (n - 1) rounds, so 1.5 million ops are 20 steps of 137 ranks.
  const std::int64_t fewer = automatic_steps(all_reduce(400, 40'000, Algorithm::ring));
  EXPECT_LT(fewer, 20);
  EXPECT_GE(fewer, 8);
  EXPECT_EQ(automatic_steps(all_reduce(1000, 100'000, Algorithm::ring)), 8);
}

TEST(simulator, reports_the_end_time_of_each_step) {
  const Replica shape{.ranks = 2, .schedule = {700, 9, {1}, 10}, .evaluations = 3};
  const plan::Plan plan = replica(shape);
  Options few;
  few.steps = 5;
  const Outcome few_steps = simulated(plan, star({}), few).outcome;
  const auto until = [&](std::int64_t step) {
    return seconds_until(step, few_steps, plan.schedule);
  };
  const double full = few_steps.median_step_seconds, tail = few_steps.tail_seconds,
               evaluation = few_steps.evaluation_seconds;
  EXPECT_NEAR(until(0), few_steps.start_seconds + full, kExact);
  EXPECT_NEAR(until(8), few_steps.start_seconds + 9 * full, kExact);
  EXPECT_NEAR(until(9), few_steps.start_seconds + 9 * full + tail, kExact)
      << "the evaluation comes after the step";
  EXPECT_NEAR(until(10), few_steps.start_seconds + 10 * full + tail + evaluation, kExact);
  EXPECT_NEAR(until(699) + evaluation, few_steps.predicted_seconds, kExact);
}

TEST(simulator, predicts_every_tail_of_an_epoch) {
  const Replica shape{.ranks = 2,
                      .schedule = {103, 4, {3, 1, 2}, 0}};  // ten epochs, and the first three steps
  const plan::Plan plan = replica(shape);
  Options few, all;
  few.steps = 3;
  all.steps = 103;
  const Outcome predicted = simulated(plan, star({}), few).outcome,
                whole = simulated(plan, star({}), all).outcome;
  EXPECT_NEAR(predicted.tail_seconds, 6 * predicted.median_step_seconds,
              1e-2 * predicted.tail_seconds);
  EXPECT_NEAR(whole.tail_seconds, predicted.tail_seconds, 1e-2 * predicted.tail_seconds);
  EXPECT_NEAR(predicted.predicted_seconds, whole.simulated_seconds, 1e-2 * whole.simulated_seconds);
  EXPECT_EQ(predicted.predicted_wire_bytes, whole.predicted_wire_bytes);
  EXPECT_NEAR(whole.predicted_samples_per_second, 103 * 2 / whole.simulated_seconds,
              1e-2 * whole.predicted_samples_per_second);
  EXPECT_NEAR(predicted.predicted_samples_per_second, whole.predicted_samples_per_second,
              1e-2 * whole.predicted_samples_per_second);
}

TEST(simulator, reports_the_link_that_bounds_the_step) {
  topology::Topology drawing = star({.hosts = 4, .latency_seconds = 1e-6});
  drawing.links[2].bandwidth_bits_per_second = 1e7;
  const Outcome outcome = simulated(all_reduce(4, 4000, Algorithm::ring), drawing).outcome;
  EXPECT_EQ(outcome.bounds.front().kind, BoundKind::edge);
  EXPECT_THAT(outcome.explain, AllOf(HasSubstr("h2 - switch"), HasSubstr("24 kB"),
                                     HasSubstr("10 Mbit/s"), HasSubstr("19.2 ms")));
}

TEST(simulator, reports_that_latency_bounds_the_step) {
  const Outcome outcome =
      simulated(all_reduce(4, 40, Algorithm::ring), star({.hosts = 4, .latency_seconds = 1e-3}))
          .outcome;
  EXPECT_EQ(outcome.bounds.front().kind, BoundKind::latency);
  EXPECT_THAT(outcome.explain, AllOf(HasSubstr("6 rounds"), HasSubstr("6 ms of a total of 6")));
}

// Each of six rounds: 1 ms of transfer, then 1 ms of latency.
TEST(simulator, reports_that_no_single_part_bounds_a_sequential_step) {
  const topology::Topology drawing =
      star({.hosts = 4, .bandwidth_bits_per_second = 32e6, .latency_seconds = 1e-3});
  const Outcome outcome = simulated(all_reduce(4, 4000, Algorithm::ring), drawing).outcome;
  EXPECT_LT(outcome.bounds.front().seconds, outcome.median_step_seconds / 2);
  EXPECT_THAT(outcome.explain, HasSubstr(" 12"));
}

TEST(simulator, peak_memory_equals_the_layout) {
  const Outcome outcome =
      simulated(replica({.ranks = 2, .segments = 2, .elements = 1000}), star({})).outcome;
  EXPECT_EQ(outcome.ranks[0].peak_memory_bytes, 64 + 8000 + 8000);
  EXPECT_EQ(outcome.ranks[0].memory_bytes, 4'000'000'000);
}

}  // namespace
}  // namespace trainyard::sim
