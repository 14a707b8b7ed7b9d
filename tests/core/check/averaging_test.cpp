// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of local SGD are proved; and one that is changed anywhere that matters is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/fields.h"
#include "core/experiment/local_sgd.h"
#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using collective::Algorithm;
using experiment::LocalRule;
using plan::Op;
using plan::OpKind;
using testing::Contains;

experiment::Experiment meeting(int ranks, LocalRule rule, std::int64_t every = 4) {
  experiment::Experiment e = strategy::small(ranks);
  e.strategy.kind = experiment::StrategyKind::local_sgd;
  e.strategy.local_sgd.rule = rule;
  e.strategy.local_sgd.average_every_steps = every;
  return e;
}

TEST(Averaging, with_both_rules_and_every_algorithm_is_proved_coarse_and_expanded) {
  for (const LocalRule rule : {LocalRule::average, LocalRule::elastic})
    for (const Algorithm algorithm :
         {Algorithm::ring, Algorithm::direct, Algorithm::double_binary_tree,
          Algorithm::halving_doubling, Algorithm::star})
      for (const int ranks : {2, 3, 4}) {
        experiment::Experiment e = meeting(ranks, rule);
        e.strategy.algorithm = algorithm;
        EXPECT_EQ(first_finding(coarse(e)), "") << base::name_of(algorithm) << " of " << ranks;
        e.training.clip_norm = 1;
        e.training.accumulation_steps = 2;
        EXPECT_EQ(first_finding(expanded(e)), "") << base::name_of(algorithm) << " of " << ranks;
      }
  EXPECT_THAT(examine(expanded(meeting(3, LocalRule::average)).plan()).proofs,
              Contains(Proof::averaging));
  EXPECT_THAT(examine(coarse(strategy::small(3)).plan()).proofs,
              testing::Not(Contains(Proof::averaging)));
}

TEST(Averaging, after_any_number_of_local_steps_and_hosts_is_proved) {
  for (const std::int64_t every : {1, 2, 3, 1000})
    EXPECT_EQ(first_finding(expanded(meeting(3, LocalRule::elastic, every))), "") << every;
  for (const double alpha : {1e-9, 1.0 / 3, 0.1234567890123}) {
    experiment::Experiment e = meeting(3, LocalRule::elastic);
    e.strategy.local_sgd.elasticity = alpha;
    EXPECT_EQ(first_finding(expanded(e)), "") << alpha;
  }
  experiment::Experiment e = meeting(4, LocalRule::average);
  e.topology = tests::drawn_hosts(2, 2);
  e.strategy.algorithm = Algorithm::sharded_hierarchical;
  EXPECT_EQ(first_finding(expanded(e)), "");
}

TEST(Averaging, traffic_equals_mirrored_in_averaging_steps_and_is_zero_otherwise) {
  const experiment::Experiment e = meeting(3, LocalRule::average);
  experiment::Experiment all = e;
  all.strategy.kind = experiment::StrategyKind::mirrored;
  const Report local = examine(expanded(e).plan()), mirrored = examine(expanded(all).plan());
  for (const ProgramTraffic& traffic : local.traffic)
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(traffic.bytes_from(rank), traffic.program.ends_with("average")
                                              ? mirrored.traffic.front().bytes_from(rank)
                                              : 0)
          << traffic.program;
}

TEST(Averaging, mean_traffic_per_step_is_the_share_of_an_averaging_step) {
  const auto sent = [](experiment::Experiment e, experiment::StrategyKind kind) {
    e.strategy.kind = kind;
    const Victim victim = expanded(e);
    std::vector<std::int64_t> bytes;
    for (const plan::RankPlan& rank : victim.ranks)
      bytes.push_back(collective::step_sent_bytes(rank, victim.schedule));
    return bytes;
  };
  for (const std::int64_t every : {1, 4}) {
    const experiment::Experiment e = meeting(3, LocalRule::average, every);
    const auto local = sent(e, experiment::StrategyKind::local_sgd),
               all = sent(e, experiment::StrategyKind::mirrored);
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(local[rank], (all[rank] + every / 2) / every);
  }
}

class BrokenAveraging : public testing::Test {
 protected:
  Victim mean = expanded(meeting(3, LocalRule::average)),
         elastic = expanded(meeting(3, LocalRule::elastic));

  static std::vector<Op>& meeting_of(Victim& victim, std::size_t rank) {
    plan::RankPlan& plan = victim.ranks[rank];
    return plan.programs[static_cast<std::size_t>(plan.program("train_average"))].ops;
  }
  // The first of those that mix into a buffer.
  static Op& mix_into(Victim& victim, std::size_t rank, const std::string& buffer) {
    auto& ops = meeting_of(victim, rank);
    return *std::find_if(ops.begin(), ops.end(), [&](const Op& op) {
      return op.kind == OpKind::mix &&
             op.writes.front().buffer == victim.ranks[rank].buffer(buffer);
    });
  }
  static void expect_found(const Victim& victim, const char* place) {
    EXPECT_EQ(failed(victim), std::set{Proof::averaging});
    EXPECT_EQ(first_finding(victim), place);
  }
};

TEST_F(BrokenAveraging, with_another_shard_of_a_rank_in_the_mean_is_found) {
  for (Op& op : meeting_of(mean, 1))
    if (op.kind == OpKind::mix && !op.summands.empty()) op.weights = {{1}, 4};
  expect_found(mean, "proof_averaging at rank 0, program train_average");
}

TEST_F(BrokenAveraging, with_a_segment_that_keeps_local_parameters_is_found) {
  mix_into(mean, 2, "params").reads.front().buffer = mean.ranks[2].buffer("params");
  expect_found(mean, "proof_averaging at rank 2, program train_average");
}

TEST_F(BrokenAveraging, of_other_parameters_is_found) {
  Op& op = mix_into(mean, 0, "params");
  const std::int64_t count = op.writes.front().count;
  op.reads.front().first -= 1;
  ASSERT_GT(count, 1);
  expect_found(mean, "proof_averaging at rank 0, program train_average");
}

TEST_F(BrokenAveraging, of_parameters_before_their_update_is_found) {
  auto& ops = meeting_of(mean, 0);
  const auto update =
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == OpKind::update; });
  const auto addend =
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.kind == OpKind::mix; });
  ASSERT_LT(update - ops.begin(), addend - ops.begin());
  std::rotate(update, addend, addend + 1);
  EXPECT_THAT(failed(mean), Contains(Proof::averaging));
}

TEST_F(BrokenAveraging, that_is_applied_before_it_is_complete_is_found) {
  mix_into(mean, 1, "params").after.clear();
  EXPECT_THAT(failed(mean), Contains(Proof::races));
}

TEST_F(BrokenAveraging, without_an_averaging_step_is_found) {
  for (plan::RankPlan& rank : mean.ranks) {
    const auto local = static_cast<std::size_t>(rank.program("train")),
               meets = static_cast<std::size_t>(rank.program("train_average"));
    rank.programs[meets].ops = rank.programs[local].ops;
  }
  EXPECT_THAT(failed(mean), Contains(Proof::meaning));
}

TEST_F(BrokenAveraging, with_a_rank_that_moves_further_than_others_is_found) {
  for (Op& op : meeting_of(elastic, 2))
    if (op.kind == OpKind::mix && op.writes.front().buffer == elastic.ranks[2].buffer("params"))
      op.weights = {{3, 1}, 4};
  expect_found(elastic, "proof_averaging at rank 2, program train_average");
}

TEST_F(BrokenAveraging, with_a_center_that_moves_too_far_is_found) {
  for (Op& op : meeting_of(elastic, 1))
    if (op.kind == OpKind::mix && op.writes.front().buffer == elastic.ranks[1].buffer("centre"))
      op.weights = {{0, 1}, 1};
  expect_found(elastic, "proof_averaging at rank 1, program train_average");
}

TEST_F(BrokenAveraging, with_ranks_that_move_to_the_new_center_is_found) {
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const plan::BufferId parameters = elastic.ranks[rank].buffer("params");
    auto& ops = meeting_of(elastic, rank);
    std::stable_partition(ops.begin(), ops.end(), [&](const Op& op) {
      return op.kind != OpKind::mix || op.writes.front().buffer != parameters;
    });
  }
  EXPECT_EQ(failed(elastic), std::set{Proof::averaging});
}

TEST_F(BrokenAveraging, with_moves_beyond_the_mean_is_found) {
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (Op& op : meeting_of(elastic, rank)) {
      if (op.kind != OpKind::mix || !op.summands.empty()) continue;
      op.weights = op.writes.front().buffer == elastic.ranks[rank].buffer("params")
                       ? plan::Weights{{1, 1}, 2}
                       : plan::Weights{{-1, 3}, 2};
    }
  expect_found(elastic, "proof_averaging at rank 0, program train_average");
}

TEST_F(BrokenAveraging, with_another_shard_in_the_evaluated_mean_is_found) {
  for (plan::Program& program : mean.ranks[1].programs)
    for (Op& op : program.ops)
      if (program.name == "average" && !op.summands.empty()) op.weights = {{1}, 5};
  expect_found(mean, "proof_averaging at rank 1, program average, op MIX.b0<r1");
}

// Two ranks with weights by samples and one with 1/n do not sum to 1.
TEST_F(BrokenAveraging, with_weights_by_samples_on_some_ranks_only_is_found) {
  for (Op& op : meeting_of(mean, 1))
    if (op.kind == OpKind::mix && !op.summands.empty()) op.weights = {{1}, 3};
  expect_found(mean, "proof_averaging at rank 0, program train_average");
}

TEST_F(BrokenAveraging, without_a_program_of_the_schedule_is_found) {
  for (plan::Program& program : mean.ranks[1].programs)
    if (program.name == "tail_average") program.name = "tail_mean";
  EXPECT_EQ(failed(mean), std::set{Proof::structure});
}

}  // namespace
}  // namespace trainyard::check
