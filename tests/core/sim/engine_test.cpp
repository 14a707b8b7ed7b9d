// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives that an engine takes whole, on the virtual clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/collective/engine_cost.h"
#include "core/plan/engine_lane.h"
#include "tests/core/collective/one_bucket.h"
#include "tests/core/sim/plans.h"

namespace trainyard::sim {
namespace {

using collective::Collective;
using testing::AllOf;
using testing::HasSubstr;

collective::Work work(const topology::Network& network, std::int64_t elements) {
  return {elements, 4, network.workers(), std::vector<int>(network.workers().size(), 0)};
}

plan::Plan by_gloo(int ranks, std::int64_t elements) {
  return plan::assign_to_engine(collective::one_bucket(ranks, elements), "gloo");
}

TEST(EngineCost, of_an_all_reduce_is_that_of_a_ring_and_of_its_phases_half) {
  for (const int ranks : {2, 3, 5}) {
    const topology::Network network(
        star({.hosts = ranks, .bandwidth_bits_per_second = 8e6, .latency_seconds = 1e-3}));
    const auto w = work(network, 10'000);
    const double ring =
        collective::cost(collective::Algorithm::ring, 0, w, network).value().seconds;
    EXPECT_DOUBLE_EQ(collective::engine_seconds(Collective::all_reduce, w, network).value(), ring);
    EXPECT_DOUBLE_EQ(collective::engine_seconds(Collective::all_gather, w, network).value(),
                     ring / 2);
    EXPECT_GT(ring, 2.0 * (ranks - 1) / ranks * 40'000 * 8 / 8e6)
        << "the bytes of a ring over the link";
  }
}

TEST(EngineCost, of_a_broadcast_is_that_of_a_binomial_tree) {
  for (const auto& [ranks, rounds] : {std::pair(1, 0), {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}}) {
    const topology::Network network(
        star({.hosts = ranks, .bandwidth_bits_per_second = 8e6, .latency_seconds = 1e-3}));
    EXPECT_NEAR(
        collective::engine_seconds(Collective::broadcast, work(network, 10'000), network).value(),
        rounds * (1e-3 + 0.04), 1e-9)
        << ranks;
  }
}

// Bytes of our own programs that send the least, if chunks have equal lengths.
TEST(EngineBytes, equal_those_of_a_ring) {
  for (const std::string token : {"AR.b0", "RS.b0", "AG.b0"})
    for (const int ranks : {2, 3, 8}) {
      const plan::Plan coarse = collective::one_bucket(ranks, 24'000, token),
                       ring = collective::expand(coarse, collective::Algorithm::ring);
      for (int rank = 0; rank < ranks; ++rank) {
        const plan::RankPlan handed = plan::assign_to_engine(coarse.rank_plan(rank), "nccl");
        EXPECT_EQ(collective::step_engine_bytes(handed, coarse.groups, coarse.schedule),
                  collective::step_sent_bytes(ring.rank_plan(rank), ring.schedule))
            << token << " among " << ranks;
        EXPECT_EQ(
            collective::step_engine_bytes(coarse.rank_plan(rank), coarse.groups, coarse.schedule),
            0)
            << "no engine takes it";
      }
    }
}

TEST(EngineBytes, of_a_broadcast_reach_each_member_but_the_root_once) {
  for (const int ranks : {2, 3, 8}) {
    const plan::Plan coarse =
        plan::assign_to_engine(collective::one_bucket(ranks, 1000, "BCAST.b0<r0"), "nccl");
    std::int64_t bytes = 0;
    for (int rank = 0; rank < ranks; ++rank)
      bytes +=
          collective::step_engine_bytes(coarse.rank_plan(rank), coarse.groups, coarse.schedule);
    EXPECT_EQ(bytes, (ranks - 1) * 4000);
  }
}

TEST(SimulatedEngine, starts_at_the_last_arrival_and_ends_for_all_members_together) {
  auto drawing = star({.hosts = 3, .bandwidth_bits_per_second = 8e6, .latency_seconds = 1e-3});
  drawing.hosts[2].devices[0].slow_down = 50;  // comes last
  const topology::Network network(drawing);
  const auto run = simulated(by_gloo(3, 10'000), drawing, bare());
  std::int64_t last = 0, end = 0;
  int bars = 0;
  for (const RankEvent& e : run.events) {
    if (e.event.kind != telemetry::EventKind::op || e.event.step != 0 || e.event.subject != 1)
      continue;
    ++bars;
    EXPECT_EQ(e.event.ready_ns, e.event.begin_ns)
        << "the engine does not report when each rank was ready";
    EXPECT_EQ(e.event.value, 2 * 2 * 40'000 / 3) << "the sent bytes equal the formula";
    last = std::max(last, e.event.begin_ns);
    if (end == 0) end = e.event.end_ns;
    EXPECT_EQ(e.event.end_ns, end);
  }
  EXPECT_EQ(bars, 3) << "one a rank";
  const double seconds =
      collective::engine_seconds(Collective::all_reduce, work(network, 10'000), network).value();
  EXPECT_NEAR(static_cast<double>(end - last), seconds * 1e9, 2);
}

TEST(SimulatedEngine, counts_no_bytes_and_reports_what_bounds_the_step) {
  const auto drawing =
      star({.hosts = 4, .bandwidth_bits_per_second = 1e6, .latency_seconds = 1e-3});
  const auto run = simulated(by_gloo(4, 10'000), drawing, bare());
  EXPECT_EQ(run.outcome.engine, "gloo");
  EXPECT_TRUE(run.outcome.wire.empty());
  EXPECT_TRUE(run.outcome.edges.empty());
  EXPECT_EQ(run.outcome.bounds.front().kind, BoundKind::engine);
  EXPECT_THAT(run.outcome.explain, AllOf(HasSubstr("gloo"), HasSubstr("1 collective ")));
  EXPECT_EQ(run.outcome.fingerprint,
            simulated(by_gloo(4, 10'000), drawing, bare()).outcome.fingerprint);
  for (const RankUse& use : run.outcome.ranks) EXPECT_GT(use.crossing_seconds, use.compute_seconds);
}

TEST(SimulatedEngine, reports_ranks_that_call_different_collectives) {
  auto ranks = std::vector<plan::RankPlan>();
  const plan::Plan plan = by_gloo(2, 1000);
  for (int r = 0; r < 2; ++r) ranks.push_back(plan.rank_plan(r));
  for (plan::Op& op : ranks[1].programs[0].ops)
    if (op.kind == plan::OpKind::all_reduce) op.reads[0].count = op.writes[0].count = 999;
  const auto outcome = simulate(plan::from_ranks(plan.groups, plan.schedule, ranks),
                                topology::Network(star({.hosts = 2})), bare());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "collectives_differ");
}

}  // namespace
}  // namespace trainyard::sim
