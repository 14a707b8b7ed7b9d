// SPDX-License-Identifier: GPL-3.0-or-later
// Gossip on a virtual clock: a rank waits only for its neighbors, and measurements between steps
// are counted.
#include <gtest/gtest.h>

#include "core/sim/simulator.h"
#include "core/strategy/strategy.h"
#include "tests/conformance/simulated_steps.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::tests {
namespace {

using sim::Options;
using sim::Outcome;

experiment::Experiment gossip_of(int ranks, experiment::GossipGraph graph) {
  experiment::Experiment e = strategy::small(ranks);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.graph = graph;
  e.training.steps = 60;
  return e;
}

TEST(GossipSimulated, step_sends_the_parameters_to_every_neighbor) {
  for (const auto& [graph, neighbors] :
       {std::pair{experiment::GossipGraph::ring, 2}, {experiment::GossipGraph::complete, 4}}) {
    const experiment::Experiment e = gossip_of(5, graph);
    EXPECT_EQ(simulated_steps(e, 3).step_wire_bytes(),
              5 * neighbors * experiment::resolve(e, ".")->model.elements * 4);
  }
}

// The mean is made at every third step, at evaluations (once an epoch of seven) and after the last
// step, whichever falls together.
TEST(GossipSimulated, predicts_bytes_and_time_of_a_full_run_from_few_steps) {
  for (const std::int64_t every : {0, 3, 7, 14})
    for (const std::int64_t held_out : {0, 53}) {
      experiment::Experiment e = gossip_of(5, experiment::GossipGraph::ring);
      e.strategy.gossip.consensus_every_steps = every;
      e.data.held_out_samples = held_out;
      const Outcome few = simulated_steps(e, 4), all = simulated_steps(e, 60);
      EXPECT_GT(few.average_seconds, 0);
      EXPECT_EQ(few.predicted_wire_bytes, all.predicted_wire_bytes) << every;
      EXPECT_EQ(all.predicted_seconds, all.simulated_seconds);
      EXPECT_NEAR(few.predicted_seconds, all.simulated_seconds, 0.05 * all.simulated_seconds)
          << every;
    }
}

// One message is late by a pause: it holds up neighbors at once, and who is far away only many
// steps later.
TEST(GossipSimulated, straggler_delays_its_neighbors_first) {
  experiment::Experiment e = gossip_of(8, experiment::GossipGraph::ring);
  e.data.held_out_samples = 0;
  e.data.train_samples = 8 * 8 * 100;
  e.topology.hosts[0].devices[0].slow_down = 3;
  const auto resolved = experiment::resolve(e, ".").value();
  std::vector<std::vector<std::int64_t>> ends(8);
  Options options;
  options.steps = 4;
  options.on_event = [&](int rank, const telemetry::Event& event) {
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(telemetry::Metric::step_seconds))
      ends[static_cast<std::size_t>(rank)].push_back(event.end_ns);
  };
  ASSERT_TRUE(sim::simulate(strategy::make_plan(resolved).value(),
                            topology::Network(resolved.document.topology), options));
  EXPECT_LT(ends[4][2], ends[1][2]) << "four hops away nothing is delayed yet; the neighbors are";
  EXPECT_LT(ends[4][2], ends[0][2]);
}

}  // namespace
}  // namespace trainyard::tests
