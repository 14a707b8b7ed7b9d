// SPDX-License-Identifier: GPL-3.0-or-later
// Gossip with real gradients, ranks as threads: what every rank's step is, what all end with, what
// is measured and what is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/gossip_training.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::GossipGraph;
using experiment::OptimizerKind;

experiment::Experiment gossiping(int ranks, GossipGraph graph, std::int64_t global_batch = 24) {
  experiment::Experiment e = small(ranks, global_batch);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.graph = graph;
  return e;
}

TEST(Gossip, without_gradients_keeps_the_mean_and_converges_at_the_rate_of_its_matrix) {
  expect_gossip(in_process);
  for (const int ranks : {2, 3, 8}) expect_gossip_decays(ranks, GossipGraph::ring, in_process);
  expect_gossip_decays(8, GossipGraph::exponential, in_process);
}

TEST(Gossip, sends_the_parameters_to_every_neighbor_only) {
  expect_gossip_bytes(8, GossipGraph::exponential, in_process);
  expect_gossip_bytes(6, GossipGraph::torus, in_process);
}

TEST(Gossip, on_a_complete_graph_reaches_consensus_after_one_step_without_gradient) {
  experiment::Experiment e = gossip_without_gradients(5, GossipGraph::complete);
  e.training.steps = 1;
  const Change change = [](int rank, const compute::Tensor& parameters) {
    for (std::int64_t i = 0; i < parameters.elements(); ++i)
      parameters.as<double>()[i] += std::cos(static_cast<double>((rank + 1) * (i + 3)));
  };
  const auto distances = consensus_distances(
      train(experiment::resolve(e, ".").value(), compute::reference::make, in_process, {}, change));
  ASSERT_EQ(distances.size(), 1u);
  EXPECT_LE(distances.at(0), 1e-14);
}

// All begin alike, so the mean of what they have after one step is what the mean gradient makes:
// whatever the graph, and of momentum too.
TEST(Gossip, first_step_equals_mirrored) {
  for (const GossipGraph graph : {GossipGraph::complete, GossipGraph::ring})
    for (const double decay : {0.0, 0.02}) {
      experiment::Experiment e = one_step(gossiping(4, graph));
      e.training.optimizer.weight_decay = decay;
      experiment::Experiment all = e;
      all.strategy.kind = experiment::StrategyKind::mirrored;
      const auto gossip = trained(e), mirrored = trained(all);
      for (const RankOutcome& rank : gossip) {
        ASSERT_EQ(rank.problem, base::Problem{});
        EXPECT_LE(distance(rank.parameters, mirrored[0].parameters), 1e-13);
      }
    }
}

// Each rank ends with its local parameters instead of their mean.
void leave_apart(plan::RankPlan& plan) {
  std::erase_if(plan.programs, [](const plan::Program& program) { return program.name == "end"; });
}

// Also receives nothing: each rank only takes its local steps.
void leave_alone(plan::RankPlan& plan) {
  leave_apart(plan);
  for (plan::Program& program : plan.programs)
    for (plan::Op& op : program.ops)
      for (std::size_t i = 0; i < op.weights.numerators.size() && program.name == "train"; ++i)
        op.weights.numerators[i] = op.summands[i] == plan.rank ? op.weights.denominator : 0;
}

void begin_apart(int rank, const compute::Tensor& parameters) {
  for (std::int64_t i = 0; i < parameters.elements(); ++i)
    parameters.as<double>()[i] += 0.1 * std::cos(static_cast<double>((rank + 1) * (i + 3)));
}

// Different initial parameters: x_i <- sum_j W_ij x_j - step_i, where the step is the one that the
// rank would take alone from x_i, not from the average.
TEST(Gossip, step_is_the_average_of_neighbors_minus_the_local_update) {
  for (const OptimizerKind optimizer :
       {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
    for (const GossipGraph graph : {GossipGraph::ring, GossipGraph::exponential}) {
      experiment::Experiment e = one_step(gossiping(6, graph));
      e.training.optimizer.kind = optimizer;
      e.training.optimizer.weight_decay = 0.03;
      const auto resolved = experiment::resolve(e, ".").value();
      experiment::Experiment still = e;
      still.training.optimizer = {.kind = OptimizerKind::sgd, .learning_rate = 0, .momentum = 0};
      const auto run = [](const experiment::Resolved& what, const ChangePlan& change) {
        return train(what, compute::reference::make, in_process, {}, begin_apart, change);
      };
      const auto starts = run(experiment::resolve(still, ".").value(), leave_alone),
                 alone = run(resolved, leave_alone), together = run(resolved, leave_apart);
      const experiment::MixingMatrix mixing = experiment::mixing(e);
      for (int i = 0; i < 6; ++i) {
        const auto& own = alone[static_cast<std::size_t>(i)].parameters;
        std::vector<double> expected(own.size());
        for (std::size_t k = 0; k < own.size(); ++k) {
          expected[k] = own[k] - starts[static_cast<std::size_t>(i)].parameters[k];
          for (int j = 0; j < 6; ++j)
            expected[k] += mixing.weight(i, j) * starts[static_cast<std::size_t>(j)].parameters[k];
        }
        ASSERT_EQ(together[static_cast<std::size_t>(i)].problem, base::Problem{});
        EXPECT_GT(distance(own, starts[static_cast<std::size_t>(i)].parameters), 1e-4)
            << "a step was taken";
        EXPECT_LE(distance(together[static_cast<std::size_t>(i)].parameters, expected), 1e-13)
            << "rank " << i;
      }
    }
}

// Totals of what was sent to one peer, as they were told of each step, in order.
std::map<std::int32_t, std::vector<double>> sent_to(const RankOutcome& rank, int peer) {
  std::map<std::int32_t, std::vector<double>> totals;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric && event.index == peer &&
        event.subject == static_cast<int>(telemetry::Metric::sent_payload_bytes))
      totals[event.step].push_back(event.value);
  return totals;
}

// A rate is bytes over the time of steps, of which the mean that all make, and the evaluation after
// it, are no part.
TEST(Gossip, bytes_between_steps_count_for_the_previous_step) {
  experiment::Experiment e = gossiping(4, GossipGraph::ring);
  e.training.steps = 12;
  e.strategy.gossip.consensus_every_steps = 3;
  e.run.evaluate_every_steps = 12;
  const auto ranks = trained(e);
  const auto to_next = sent_to(ranks[0], 1);
  ASSERT_EQ(to_next.size(), 12u);
  const auto resolved = experiment::resolve(e, ".").value();
  const auto bytes = static_cast<double>(3 * resolved.model.elements) * 8;
  for (const int last : {5, 8, 11})
    EXPECT_EQ(to_next.at(last).front() - to_next.at(last - 3).back(), bytes)
        << "one step's may begin in the one before it";
  for (const int last : {2, 5, 8})
    EXPECT_GT(to_next.at(last).back(), to_next.at(last).front()) << "the mean";
}

TEST(Gossip, allocates_nothing_in_later_steps) {
  experiment::Experiment e = gossiping(4, GossipGraph::ring);
  e.strategy.gossip.consensus_every_steps = 5;
  EXPECT_THAT(allocated_by_more_steps(e, in_process), testing::Each(0));
}

TEST(Gossip, trains_and_ends_with_equal_parameters) {
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adamw})
    for (const GossipGraph graph : {GossipGraph::ring, GossipGraph::torus}) {
      experiment::Experiment e = gossiping(6, graph);
      e.training.optimizer.kind = optimizer;
      e.training.optimizer.learning_rate = optimizer == OptimizerKind::sgd ? 0.05 : 0.01;
      e.training.clip_norm = 5;
      e.training.steps = 300;
      const auto ranks = trained(e);
      for (const RankOutcome& rank : ranks) {
        ASSERT_EQ(rank.problem, base::Problem{});
        EXPECT_EQ(rank.parameters, ranks[0].parameters);
      }
      EXPECT_GE(sum_of(ranks, telemetry::Metric::held_out_correct, 299),
                0.9 * static_cast<double>(e.data.held_out_samples));
      EXPECT_GT(consensus_distances(ranks).rbegin()->second, 0);
    }
}

}  // namespace
}  // namespace trainyard::tests
