// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous gossip with real gradients, ranks as threads: what all end with, what is counted,
// whom a straggler holds up, and how a pause ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/conformance/asynchronous_gossip_training.h"
#include "tests/conformance/recorded.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::conformance {
namespace {

using experiment::GossipGraph;
using experiment::GossipMode;
using experiment::OptimizerKind;
using session::Command;
using session::RunState;
using telemetry::Metric;
using tests::in_process;
using tests::RankOutcome;
using tests::trained;

TEST(AsynchronousGossip, without_gradients_keeps_the_mean_and_converges) {
  tests::expect_gossip_pairs(in_process);
}

// All begin alike, and the mean is never changed by an average: after one step it is that of
// mirrored.
TEST(AsynchronousGossip, first_step_equals_mirrored) {
  for (const int ranks : {2, 4, 6}) {
    experiment::Experiment e = tests::one_step(tests::in_pairs(tests::small(ranks, 24)));
    experiment::Experiment all = e;
    all.strategy.kind = experiment::StrategyKind::mirrored;
    const auto gossip = trained(e), mirrored = trained(all);
    for (const RankOutcome& rank : gossip) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_LE(tests::distance(rank.parameters, mirrored[0].parameters), 1e-13);
    }
  }
}

TEST(AsynchronousGossip, trains_and_ends_with_equal_parameters) {
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adamw}) {
    experiment::Experiment e = tests::in_pairs(tests::small(6, 24));
    e.training.optimizer.kind = optimizer;
    e.training.optimizer.learning_rate = optimizer == OptimizerKind::sgd ? 0.05 : 0.01;
    e.training.clip_norm = 5;
    e.training.steps = 300;
    const auto ranks = trained(e);
    for (const RankOutcome& rank : ranks) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_EQ(rank.parameters, ranks[0].parameters);
    }
    EXPECT_GE(tests::sum_of(ranks, Metric::held_out_correct, 299),
              0.9 * static_cast<double>(e.data.held_out_samples));
    EXPECT_GT(tests::consensus_distances(ranks).rbegin()->second, 0);
  }
}

TEST(AsynchronousGossip, allocates_nothing_in_later_steps) {
  experiment::Experiment e = tests::in_pairs(tests::small(4, 24));
  e.strategy.gossip.consensus_every_steps = 5;
  EXPECT_THAT(tests::allocated_by_more_steps(e, in_process), testing::Each(0));
}

// Sessions
// ------------------------------------------------------------

double median_step(const telemetry::History& history, int rank) {
  const auto* series = history.find({Metric::step_seconds, rank, 0});
  if (series == nullptr || series->values.empty()) return 0;
  std::vector<double> values = series->values;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

experiment::Experiment with_straggler(GossipMode mode, std::size_t straggler) {
  experiment::Experiment e = session_experiment(4, 60);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.mode = mode;
  e.model.layers.front().units = 400;
  e.run.evaluate_every_steps = 60;
  e.topology.hosts[0].devices[straggler].slow_down =
      150;  // its steps take far longer than a thread may wait for a core
  return e;
}

// In lockstep, neighbors wait for a straggler at every step, and their neighbors for them.
// Asynchronously, not even the ranks that it answers wait: a slow device answers as soon as any.
TEST(AsynchronousGossip, straggler_does_not_slow_other_ranks) {
  for (const std::size_t straggler : {0u, 1u}) {
    SessionRun is_lockstep(with_straggler(GossipMode::synchronous, straggler));
    const telemetry::History together = recorded(is_lockstep.result());
    SessionRun apart(with_straggler(GossipMode::asynchronous, straggler));
    const auto outcome = apart.result();
    ASSERT_EQ(state_of(outcome), "finished");
    const telemetry::History own = recorded(outcome);
    const int slow = static_cast<int>(straggler);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == slow) continue;
      EXPECT_GT(median_step(together, rank), 0.7 * median_step(together, slow)) << rank;
      EXPECT_LT(median_step(own, rank), 0.4 * median_step(own, slow)) << rank;
    }
  }
}

// A request that arrives while the other ranks have already stopped is still answered, and all stop
// at the same step.
TEST(AsynchronousGossip, pauses_and_stops_all_ranks_at_one_step) {
  experiment::Experiment e = with_straggler(GossipMode::asynchronous, 0);
  e.training.steps = 1'000'000;
  e.run.evaluate_every_steps = 1'000'000;
  e.topology.hosts[0].devices[0].slow_down = 4;
  SessionRun run(e);
  Viewer viewer(run.client());
  viewer.wait_for_step(20);
  viewer.ask(Command::pause);
  const auto paused = viewer.wait_for(RunState::paused);
  EXPECT_EQ(paused.step, paused.horizon);
  viewer.ask(Command::single_step);
  viewer.wait_for_step(paused.step + 1);
  viewer.ask(Command::stop);
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "stopped");
  for (const auto& rank : outcome.result["ranks"])
    EXPECT_EQ(rank["parameters_xxh64"], outcome.result["ranks"][0]["parameters_xxh64"])
        << "the mean";
  EXPECT_FALSE(outcome.result.contains("lambda_2"));
  EXPECT_TRUE(recorded(outcome).consensus_decay().empty())
      << "there is no theory for asynchronous ranks";
}

}  // namespace
}  // namespace trainyard::conformance
