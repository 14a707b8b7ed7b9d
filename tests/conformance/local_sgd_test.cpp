// SPDX-License-Identifier: GPL-3.0-or-later
// Local SGD and elastic averaging with real gradients, ranks as threads: which steps are whose,
// what all end with, and what is measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/sent_bytes.h"
#include "tests/conformance/local_sgd_training.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::LocalRule;
using experiment::OptimizerKind;

void expect_all_end_alike(const std::vector<RankOutcome>& ranks) {
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
}

TEST(LocalSgd, averages_by_an_all_reduce_and_moves_to_a_center_by_its_equations) {
  expect_local_sgd(in_process);
  for (const double alpha : {0.01, 0.125, 0.25}) expect_elastic_moves(alpha, in_process);
}

// One local step of SGD from one start, then the mean: the step by the mean gradient. Momentum of
// equal batches is linear too.
TEST(LocalSgd, with_one_local_step_equals_mirrored) {
  for (const collective::Algorithm algorithm :
       {collective::Algorithm::ring, collective::Algorithm::direct,
        collective::Algorithm::double_binary_tree})
    for (const double momentum : {0.0, 0.9}) {
      experiment::Experiment e = meeting_every(1, 4);
      e.strategy.algorithm = algorithm;
      e.data.train_samples = 24 * 10;  // without a tail, of which ranks would have unequal parts
      e.training.optimizer.momentum = momentum;
      experiment::Experiment all = e;
      all.strategy.kind = experiment::StrategyKind::mirrored;
      const auto local = trained(e), mirrored = trained(all);
      expect_all_end_alike(local);
      EXPECT_LE(distance(local[0].parameters, mirrored[0].parameters), 1e-12);
      EXPECT_GT(norm(local[0].parameters), 0);
    }
}

// Two steps from one start: the mean of the results of each rank on its own batches, computed by a
// run per rank without synchronization.
TEST(LocalSgd, ranks_train_independently_between_averages) {
  for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adam}) {
    experiment::Experiment e = meeting_every(2, 3);
    e.training.optimizer.kind = optimizer;
    e.training.steps = 2;
    e.data.held_out_samples = 0;
    const ChangePlan leave_apart = [](plan::RankPlan& plan) {
      std::erase_if(plan.programs,
                    [](const plan::Program& program) { return program.name == "end"; });
    };
    const auto run = [&](std::int64_t every, const ChangePlan& change) {
      e.strategy.local_sgd.average_every_steps = every;
      return train(experiment::resolve(e, ".").value(), compute::reference::make, in_process, {},
                   {}, change);
    };
    const auto met = run(2, leave_apart), never = run(1000, leave_apart),
               in_the_end = run(1000, {});
    std::vector<double> mean(never[0].parameters.size(), 0);
    for (const RankOutcome& rank : never)
      for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += rank.parameters[k] / 3;
    EXPECT_GT(distance(never[0].parameters, never[1].parameters), 1e-4);
    expect_all_end_alike(met);
    EXPECT_LE(distance(met[0].parameters, mean), 1e-13);
    EXPECT_LE(distance(in_the_end[0].parameters, mean), 1e-13)
        << "ranks that never averaged still end with the mean";
  }
}

TEST(LocalSgd, sends_the_bytes_of_the_formula_over_a_full_run) {
  for (const LocalRule rule : {LocalRule::average, LocalRule::elastic})
    for (const std::int64_t every : {1, 7, 30, 1000}) {
      experiment::Experiment e = meeting_every(every, 4);
      e.strategy.local_sgd.rule = rule;
      e.training.steps = 30;
      const auto expected = experiment::sent_bytes(experiment::resolve(e, ".").value());
      ASSERT_TRUE(expected.has_value());
      const auto ranks = trained(e);
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        EXPECT_EQ(sent_payload(ranks[rank]), (*expected)[rank]) << every;
    }
}

// Ten steps apart, then at one; evaluated after the fifth and the tenth.
TEST(LocalSgd, consensus_distance_is_measured_at_every_evaluation_and_zero_after_an_average) {
  experiment::Experiment e = meeting_every(10, 4);
  e.training.steps = 20;
  e.run.evaluate_every_steps = 5;
  const auto distances = consensus_distances(trained(e));
  ASSERT_EQ(distances.size(), 4u);
  for (const std::int32_t apart : {4, 14}) EXPECT_GT(distances.at(apart), 1e-4) << apart;
  for (const std::int32_t met : {9, 19}) EXPECT_LE(distances.at(met), 1e-12) << met;
}

// A kernel is prepared for each distinct weight. Ranks average after each epoch, so that the long
// run has the same weights as the short one.
TEST(LocalSgd, allocates_nothing_in_later_steps) {
  for (const LocalRule rule : {LocalRule::average, LocalRule::elastic}) {
    constexpr std::int64_t steps_per_epoch = 11;
    experiment::Experiment e = meeting_every(steps_per_epoch, 4);
    e.run.evaluate_every_steps = steps_per_epoch;
    e.strategy.local_sgd.rule = rule;
    EXPECT_THAT(allocated_by_more_steps(e, in_process), testing::Each(0));
  }
}

TEST(LocalSgd, trains_and_ends_with_equal_parameters) {
  for (const LocalRule rule : {LocalRule::average, LocalRule::elastic})
    for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adamw}) {
      experiment::Experiment e = meeting_every(8, 4);
      e.strategy.local_sgd.rule = rule;
      e.training.optimizer.kind = optimizer;
      e.training.optimizer.learning_rate = optimizer == OptimizerKind::sgd ? 0.05 : 0.01;
      e.training.clip_norm = 5;
      e.training.accumulation_steps = 2;
      e.training.steps = 300;
      const auto ranks = trained(e);
      expect_all_end_alike(ranks);
      EXPECT_GE(sum_of(ranks, telemetry::Metric::held_out_correct, 299),
                0.9 * static_cast<double>(e.data.held_out_samples));
    }
}

}  // namespace
}  // namespace trainyard::tests
