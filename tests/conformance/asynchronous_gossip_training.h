// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous gossip with real ranks, for every kind of transport. Without gradients, pairs only
// average; no rank waits forever.
#pragma once

#include <gmock/gmock.h>

#include "tests/conformance/gossip_training.h"

namespace trainyard::tests {

inline experiment::Experiment in_pairs(
    experiment::Experiment e, experiment::GossipGraph graph = experiment::GossipGraph::ring) {
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.mode = experiment::GossipMode::asynchronous;
  e.strategy.gossip.graph = graph;
  return e;
}

inline std::int64_t averages_of(const RankOutcome& rank) {
  double total = 0;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(telemetry::Metric::averages))
      total = event.value;
  return static_cast<std::int64_t>(total);
}

// Wherever ranks begin, their mean stays, and no average takes them further apart; many bring them
// together.
inline void expect_gossip_pairs_come_together(int ranks, experiment::GossipGraph graph,
                                              const MakeTransports& transports) {
  SCOPED_TRACE(std::string(base::name_of(graph)) + " of " + std::to_string(ranks));
  experiment::Experiment e = in_pairs(gossip_without_gradients(ranks, graph), graph);
  e.training.steps = 60;
  const Change begin = [](int rank, const compute::Tensor& parameters) {
    for (std::int64_t i = 0; i < parameters.elements(); ++i)
      parameters.as<double>()[i] += std::cos(static_cast<double>((rank + 1) * (i + 3)));
  };
  std::vector<std::vector<double>> starts(static_cast<std::size_t>(ranks));
  const Change noted = [&](int rank, const compute::Tensor& parameters) {
    begin(rank, parameters);
    starts[static_cast<std::size_t>(rank)] = values_of(parameters);
  };
  const auto outcomes =
      train(experiment::resolve(e, ".").value(), compute::reference::make, transports, {}, noted);
  std::vector<double> mean(starts[0].size());
  for (const auto& start : starts)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += start[i] / ranks;
  for (const RankOutcome& rank : outcomes) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, outcomes[0].parameters) << "all end with the mean";
    EXPECT_LE(distance(rank.parameters, mean), 1e-6);
  }
  double before = 0;
  for (const auto& start : starts)
    for (std::size_t i = 0; i < mean.size(); ++i)
      before += (start[i] - mean[i]) * (start[i] - mean[i]) / ranks;
  before = std::sqrt(before);
  const auto distances = consensus_distances(outcomes);
  ASSERT_EQ(distances.size(), 60u);
  double last = before * (1 + 1e-12);
  for (const auto& [step, distance] : distances) {
    EXPECT_LE(distance, last + 1e-12 * before) << "step " << step;
    last = distance;
  }
  EXPECT_LT(last, 0.02 * before);
}

// An active rank initiates one average per step, and passive ranks answer the same total number,
// independent of their own steps. With S bytes of parameters, S bytes go in each direction.
inline void expect_gossip_pairs_count(int ranks, const MakeTransports& transports) {
  experiment::Experiment e =
      in_pairs(gossip_without_gradients(ranks, experiment::GossipGraph::ring));
  e.strategy.gossip.consensus_every_steps = 0;
  e.data.held_out_samples = 0;
  e.training.steps = 30;
  const auto few = trained_by(e, transports);
  e.training.steps = 100;
  const auto more = trained_by(e, transports);
  const std::int64_t bytes = experiment::resolve(e, ".").value().model.elements * 8;
  std::int64_t moved = 0, events = 0, answered = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_EQ(more[static_cast<std::size_t>(rank)].problem, base::Problem{});
    const std::int64_t averages = averages_of(more[static_cast<std::size_t>(rank)]);
    if (rank % 2 == 1) answered += averages;
    else EXPECT_EQ(averages, 100);
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        moved += payload_to(more[static_cast<std::size_t>(rank)], peer) -
                 payload_to(few[static_cast<std::size_t>(rank)], peer);
    const plan::RankPlan plan =
        strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(rank);
    for (const telemetry::Event& event : more[static_cast<std::size_t>(rank)].events)
      if (event.kind == telemetry::EventKind::op && event.index == plan.program("answer")) ++events;
  }
  EXPECT_EQ(moved, 70 * (ranks / 2) * 2 * bytes);
  EXPECT_EQ(answered, 100 * (ranks / 2)) << "also those after local steps";
  EXPECT_EQ(events, answered) << "each answer is recorded";
}

// Thousands of steps of ranks that the machine makes unlike all the time, with meetings at odd
// moments.
inline void expect_gossip_pairs_never_hang(int ranks, const MakeTransports& transports) {
  experiment::Experiment e = in_pairs(small(ranks, 2 * ranks));
  e.model.layers = {{model::LayerKind::linear, 0}};
  e.strategy.gossip.consensus_every_steps = 97;
  e.training.steps = 4000;
  for (const RankOutcome& rank : trained_by(e, transports))
    ASSERT_EQ(rank.problem, base::Problem{});
}

inline void expect_gossip_pairs(const MakeTransports& transports) {
  using experiment::GossipGraph;
  expect_gossip_pairs_come_together(2, GossipGraph::ring, transports);
  expect_gossip_pairs_come_together(6, GossipGraph::ring, transports);
  expect_gossip_pairs_come_together(4, GossipGraph::torus, transports);
  expect_gossip_pairs_count(4, transports);
  expect_gossip_pairs_never_hang(4, transports);
}

}  // namespace trainyard::tests
