// SPDX-License-Identifier: GPL-3.0-or-later
// Gossip with real ranks, for every kind of transport: without gradients it is the matrix, and
// nothing but the matrix.
#pragma once

#include <map>

#include "core/experiment/fields.h"
#include "core/experiment/mixing_matrix.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {

// No step is taken, and how far ranks are apart is measured after every one.
inline experiment::Experiment gossip_without_gradients(int ranks, experiment::GossipGraph graph) {
  experiment::Experiment e = small(ranks, 8 * ranks);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.graph = graph;
  e.strategy.gossip.consensus_every_steps = 1;
  e.training.optimizer = {
      .kind = experiment::OptimizerKind::sgd, .learning_rate = 0, .momentum = 0};
  e.training.steps = 12;
  return e;
}

// Consensus distance by step: sqrt(1/n sum_i |x_i - mean|^2), from the reports of all ranks.
inline std::map<std::int32_t, double> consensus_distances(const std::vector<RankOutcome>& ranks) {
  std::map<std::int32_t, double> squares;
  for (const RankOutcome& rank : ranks)
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject ==
              static_cast<std::uint16_t>(telemetry::Metric::squared_consensus_distance))
        squares[event.step] += event.value;
  for (auto& [step, square] : squares)
    square = std::sqrt(square / static_cast<double>(ranks.size()));
  return squares;
}

// Every rank begins elsewhere: its part of the eigenvector, times one direction, from where all
// would begin.
struct Apart {
  std::vector<double> eigenvector;  // of length 1

  Change change() {
    return [this](int rank, const compute::Tensor& parameters) {
      const double by = eigenvector[static_cast<std::size_t>(rank)];
      for (std::int64_t i = 0; i < parameters.elements(); ++i)
        parameters.as<double>()[i] += by * direction(i);
    };
  }
  double distance(std::int64_t elements) const {
    double square = 0;
    for (std::int64_t i = 0; i < elements; ++i) square += direction(i) * direction(i);
    return std::sqrt(square / static_cast<double>(eigenvector.size()));
  }
  static double direction(std::int64_t i) { return 0.5 + std::sin(static_cast<double>(i)); }
};

// The mean stays, and what is apart shrinks by |lambda_2| at every step.
inline void expect_gossip_decays(int ranks, experiment::GossipGraph graph,
                                 const MakeTransports& transports) {
  SCOPED_TRACE(std::string(base::name_of(graph)) + " of " + std::to_string(ranks));
  const auto resolved = experiment::resolve(gossip_without_gradients(ranks, graph), ".").value();
  const experiment::SecondEigenvalue second =
      experiment::second_eigenvalue(experiment::mixing(resolved.document));
  Apart apart{second.vector};
  const auto outcomes = train(resolved, compute::reference::make, transports, {}, apart.change());
  auto alone = small(1, 8);
  alone.strategy.kind = experiment::StrategyKind::one_device;
  alone.training.optimizer = resolved.document.training.optimizer;
  const auto mean =
      trained_by(alone, {})[0].parameters;  // the common start, as no rank takes a step
  for (const RankOutcome& rank : outcomes) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, outcomes[0].parameters) << "all end with the mean";
    EXPECT_LE(tests::distance(rank.parameters, mean), 1e-6);
  }
  const auto distances = consensus_distances(outcomes);
  ASSERT_EQ(distances.size(), 12u);
  const double before = apart.distance(static_cast<std::int64_t>(mean.size()));
  double expected = before;
  for (const auto& [step, distance] : distances) {
    expected *= second.absolute;
    EXPECT_NEAR(distance, expected, 0.05 * expected + 1e-12 * before) << "step " << step;
  }
}

inline std::int64_t payload_to(const RankOutcome& rank, int peer) {
  return static_cast<std::int64_t>(rank.traffic[static_cast<std::size_t>(peer)].sent_payload_bytes);
}

// For S bytes of parameters, each rank sends S to each neighbor in every step and nothing to
// others. Measured as the difference that additional steps make.
inline void expect_gossip_bytes(int ranks, experiment::GossipGraph graph,
                                const MakeTransports& transports) {
  SCOPED_TRACE(std::string(base::name_of(graph)) + " of " + std::to_string(ranks));
  experiment::Experiment e = gossip_without_gradients(ranks, graph);
  e.strategy.gossip.consensus_every_steps = 0;
  e.data.held_out_samples = 0;
  e.training.steps = 3;
  const auto few = trained_by(e, transports);
  e.training.steps = 10;
  const auto more = trained_by(e, transports);
  const experiment::MixingMatrix mixing = experiment::mixing(e);
  const std::int64_t bytes = experiment::resolve(e, ".").value().model.elements * 8;
  for (int rank = 0; rank < ranks; ++rank)
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const auto r = static_cast<std::size_t>(rank);
      ASSERT_EQ(more[r].problem, base::Problem{});
      EXPECT_EQ(payload_to(more[r], peer) - payload_to(few[r], peer),
                mixing.at(rank, peer) > 0 ? 7 * bytes : 0)
          << rank << " to " << peer;
    }
}

inline void expect_gossip(const MakeTransports& transports) {
  using experiment::GossipGraph;
  expect_gossip_decays(5, GossipGraph::ring, transports);
  expect_gossip_decays(4, GossipGraph::complete, transports);
  expect_gossip_decays(6, GossipGraph::torus, transports);
  expect_gossip_bytes(4, GossipGraph::ring, transports);
}

}  // namespace trainyard::tests
