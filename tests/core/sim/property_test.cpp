// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of every plan: it ends, keeps its order, is reproducible, and is not faster on slower
// links.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <tuple>

#include "core/sim/outcome.h"
#include "tests/core/collective/one_bucket.h"
#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using collective::Algorithm;
using telemetry::EventKind;

using Tails = std::vector<std::int64_t>;

struct Scene {
  Replica shape;
  Star drawing;
  LanesPerThread lanes_per_thread = LanesPerThread::all;
};

collective::Method any_method() {
  const auto& all = collective::kAlgorithms;
  collective::Method method(*rc::gen::elementOf(std::vector(std::begin(all), std::end(all))));
  method.segment_bytes = *rc::gen::element(0, 0, 1000, 20'000);
  return method;
}

Scene any_scene() {
  const int ranks = *rc::gen::inRange(1, 7);
  Scene scene;
  scene.shape = {
      .ranks = ranks,
      .segments = *rc::gen::inRange(1, 5),
      .elements = *rc::gen::inRange(1, 30'000),
      .flops = *rc::gen::inRange(0, 1'000'000),
      .schedule = {*rc::gen::inRange(1, 8), *rc::gen::inRange(1, 4),
                   *rc::gen::element(Tails{}, Tails{1}, Tails{1, 2}), *rc::gen::inRange(0, 4)},
      .evaluations = *rc::gen::inRange(0, 12),
      .method = any_method()};
  scene.drawing = {.hosts = ranks,
                   .bandwidth_bits_per_second = *rc::gen::element(1e6, 3e7, 1e9, 4.7e10),
                   .latency_seconds = *rc::gen::element(0.0, 1e-6, 1e-3)};
  scene.lanes_per_thread =
      *rc::gen::element(LanesPerThread::all, LanesPerThread::paced, LanesPerThread::one);
  return scene;
}

Simulated play(const Scene& scene) {
  Options options;
  options.lanes_per_thread = scene.lanes_per_thread;
  return simulated(replica(scene.shape), star(scene.drawing), options);
}

// An op of a lane, or the round that it shares with others: {program, op, -1} or {program, bucket,
// round}.
using LanePosition = std::tuple<int, int, int>;

LanePosition place(const plan::RankPlan& rank, int program, int number) {
  const plan::Op& op =
      rank.programs[static_cast<std::size_t>(program)].ops[static_cast<std::size_t>(number)];
  return op.round >= 0 ? LanePosition{program, op.bucket, op.round}
                       : LanePosition{program, number, -1};
}

// Positions in plan order by lane, step after step.
std::vector<std::vector<LanePosition>> planned(const plan::RankPlan& rank,
                                               const plan::Schedule& schedule) {
  std::vector<std::vector<LanePosition>> lanes(rank.lanes.size());
  const auto add = [&](int program) {
    const auto& ops = rank.programs[static_cast<std::size_t>(program)].ops;
    for (std::size_t i = 0; i < ops.size(); ++i)
      lanes[ops[i].lane.index()].push_back(place(rank, program, static_cast<int>(i)));
  };
  for (std::int64_t step = 0; step < schedule.steps; ++step) {
    add(rank.program(schedule.program(step)));
    const int evaluation = rank.program("evaluate");
    if (schedule.evaluates_after(step) && evaluation >= 0)
      for (std::int64_t i = 0; i < rank.programs[static_cast<std::size_t>(evaluation)].repeats; ++i)
        add(evaluation);
  }
  return lanes;
}

std::vector<std::vector<LanePosition>> happened(const plan::RankPlan& rank,
                                                const std::vector<RankEvent>& events) {
  std::vector<std::vector<LanePosition>> lanes(rank.lanes.size());
  for (const auto& [of, event] : events)
    if (of == rank.rank && event.kind == EventKind::op)
      lanes[rank.programs[event.index].ops[event.subject].lane.index()].push_back(
          place(rank, event.index, event.subject));
  return lanes;
}

RC_GTEST_PROP(simulator_property, executes_every_op_of_every_step_in_lane_order, ()) {
  const Scene scene = any_scene();
  const Simulated all = play(scene);
  const plan::Plan plan = replica(scene.shape);
  for (int rank = 0; rank < plan.ranks; ++rank)
    RC_ASSERT(happened(plan.rank_plan(rank), all.events) ==
              planned(plan.rank_plan(rank), plan.schedule));
  for (const auto& [rank, event] : all.events) {
    RC_ASSERT(event.begin_ns <= event.ready_ns);
    RC_ASSERT(event.ready_ns <= event.end_ns);
  }
}

RC_GTEST_PROP(simulator_property, reports_no_utilization_above_one, ()) {
  const Outcome outcome = play(any_scene()).outcome;
  for (const EdgeUse& use : outcome.edges)
    RC_ASSERT(use.busy_fraction > 0 && use.busy_fraction <= 1);
  for (const RankUse& use : outcome.ranks)
    RC_ASSERT(use.idle_fraction >= 0 && use.idle_fraction <= 1);
  RC_ASSERT(outcome.bubble_fraction >= 0 && outcome.bubble_fraction <= 1);
}

RC_GTEST_PROP(simulator_property, reports_no_bubble_for_ranks_that_are_always_busy, ()) {
  RankUse use;
  use.compute_seconds = *rc::gen::inRange(1, 1'000'000'000) * 1e-9;
  use.adding_seconds = *rc::gen::inRange(0, 1'000'000'000) * 1e-9;
  RC_ASSERT(bubble_fraction(std::vector(*rc::gen::inRange<std::size_t>(1, 65), use)) == 0);
}

TEST(simulator, bubble_fraction_is_the_mean_of_the_ranks) {
  RankUse busy, idle;
  busy.compute_seconds = 4;
  idle.compute_seconds = 1, idle.crossing_seconds = 2;  // finishes after 3 of 4 s
  EXPECT_DOUBLE_EQ(bubble_fraction({busy, idle}), 0.375);
  EXPECT_EQ(bubble_fraction({RankUse{}}), 0);
}

RC_GTEST_PROP(simulator_property, reports_no_step_faster_than_its_bound, ()) {
  Scene scene = any_scene();
  scene.shape.schedule = {4, 4, {}, 0};
  const Outcome outcome = play(scene).outcome;
  RC_ASSERT(outcome.simulated_seconds >= 4 * outcome.bounds.front().seconds * (1 - 1e-9));
}

RC_GTEST_PROP(simulator_property, is_deterministic, ()) {
  const Scene scene = any_scene();
  RC_ASSERT(play(scene).outcome.fingerprint == play(scene).outcome.fingerprint);
}

// Holds for equal devices. If devices differ, about one in a few thousand random drawings is faster
// on slower links: a non-preemptive op starts before a more urgent one (the anomalies of Graham
// 1969). Real ranks have these anomalies too.
TEST(simulator, never_is_faster_with_half_the_bandwidth) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
    for (const LanesPerThread lanes : {LanesPerThread::all, LanesPerThread::one})
      for (const int ranks : {2, 3, 4, 6})
        for (const int segments : {1, 2, 5}) {
          const plan::Plan plan = replica({.ranks = ranks,
                                           .segments = segments,
                                           .elements = 5003,
                                           .flops = 200'000,
                                           .schedule = {3, 3, {}, 0},
                                           .method = algorithm});
          Options options;
          options.lanes_per_thread = lanes;
          double before = 0;
          for (double bandwidth = 64e9; bandwidth > 1e6; bandwidth /= 2) {
            const double now = simulated(plan,
                                         star({.hosts = ranks,
                                               .bandwidth_bits_per_second = bandwidth,
                                               .latency_seconds = 1e-5}),
                                         options)
                                   .outcome.simulated_seconds;
            EXPECT_GE(now, before) << ranks << " ranks, " << segments << " segments, " << bandwidth;
            before = now;
          }
        }
}

TEST(simulator_golden, fingerprints_of_events_are_unchanged) {
  const Replica shape{
      .ranks = 4, .segments = 3, .elements = 1001, .schedule = {5, 2, {1}, 3}, .evaluations = 2};
  const topology::Topology drawing = star({.hosts = 4, .latency_seconds = 20e-6});
  Replica direct = shape;
  direct.method = Algorithm::direct;
  Options free;
  free.lanes_per_thread = LanesPerThread::one;
  EXPECT_EQ(simulated(replica(shape), drawing).outcome.fingerprint, "9ad05a04f74da447");
  EXPECT_EQ(simulated(replica(direct), drawing).outcome.fingerprint, "3ff79cacf4635ab6");
  EXPECT_EQ(simulated(replica(shape), drawing, free).outcome.fingerprint, "23102954f5b35a20");
  EXPECT_EQ(simulated(replica({.ranks = 1}), star({.hosts = 1})).outcome.fingerprint,
            "1f600154d210c15e");
}

TEST(simulator_golden, fingerprint_depends_on_the_drawing) {
  const plan::Plan plan = replica({.ranks = 2});
  EXPECT_NE(simulated(plan, star({})).outcome.fingerprint,
            simulated(plan, star({.latency_seconds = 1e-9})).outcome.fingerprint);
}

TEST(simulator, simulates_sixty_four_ranks_and_all_messages) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    const plan::Plan plan = replica({.ranks = 64,
                                     .segments = 2,
                                     .elements = 100'000,
                                     .schedule = {3, 3, {}, 0},
                                     .method = algorithm});
    const Outcome outcome =
        simulated(plan,
                  star({.hosts = 64, .bandwidth_bits_per_second = 1e10, .latency_seconds = 10e-6}))
            .outcome;
    EXPECT_EQ(outcome.step_wire_bytes(), 2 * 63 * 2 * 400'000LL);
  }
}

}  // namespace
}  // namespace trainyard::sim
