// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/local_sgd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/document.h"
#include "core/experiment/placement.h"
#include "core/experiment/sent_bytes.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Experiment with_local_sgd(int ranks, LocalRule rule = LocalRule::average) {
  Experiment e = strategy::small(ranks);
  e.strategy.kind = StrategyKind::local_sgd;
  e.strategy.local_sgd.rule = rule;
  return e;
}

std::vector<std::string> problem_locations(const Experiment& e) {
  std::vector<std::string> places;
  for (const base::Problem& problem : validate(e, ".")) places.push_back(problem.where);
  return places;
}

TEST(LocalSgd, elasticity_is_a_fraction_of_at_most_one_over_ranks) {
  EXPECT_EQ(elasticity(0.225, 4), (Elasticity{9, 4, 10}));
  for (std::int64_t ranks = 1; ranks < 100; ++ranks) {
    EXPECT_EQ(elasticity(usual_elasticity(ranks), ranks), (Elasticity{9, ranks, 10}));
    EXPECT_EQ(elasticity(1.0 / static_cast<double>(ranks), ranks), (Elasticity{1, ranks, 1}));
  }
}

TEST(LocalSgd, elasticity_is_resolved_only_for_the_elastic_rule) {
  EXPECT_DOUBLE_EQ(strategy::resolved(with_local_sgd(3, LocalRule::elastic))
                       .document.strategy.local_sgd.elasticity,
                   0.3);
  EXPECT_EQ(strategy::resolved(with_local_sgd(3)).document.strategy.local_sgd.elasticity, 0);
  EXPECT_EQ(elasticity(strategy::resolved(with_local_sgd(3))), std::nullopt);
}

TEST(LocalSgd, elasticity_above_one_over_ranks_is_refused) {
  Experiment e = with_local_sgd(4, LocalRule::elastic);
  e.strategy.local_sgd.elasticity = 0.25;
  EXPECT_THAT(problem_locations(e), ElementsAre());
  e.strategy.local_sgd.elasticity = 0.26;
  EXPECT_THAT(validate(e, "."),
              ElementsAre(AllOf(IsProblem("elasticity_too_large", "strategy.local_sgd.elasticity"),
                                Mentions("0.26"), Mentions("4 ranks"))));
  e.strategy.local_sgd.rule = LocalRule::average;
  EXPECT_THAT(problem_locations(e), ElementsAre()) << "average has no elasticity";
}

TEST(LocalSgd, settings_that_need_the_global_gradient_are_refused) {
  Experiment e = with_local_sgd(4);
  e.training.non_finite = NonFinite::skip;
  EXPECT_THAT(problem_locations(e), ElementsAre("training.non_finite"));
  e = with_local_sgd(4);
  e.strategy.compression.kind = compute::compression::Scheme::fp16;
  EXPECT_THAT(problem_locations(e), ElementsAre("strategy.compression.kind"));
  e = with_local_sgd(4);
  e.strategy.average = AveragedQuantity::weights;
  EXPECT_THAT(problem_locations(e), ElementsAre("strategy.average"));
  e = with_local_sgd(4);
  e.data.sharding.kind = data::ShardingKind::vertical;
  EXPECT_THAT(problem_locations(e), ElementsAre("data.sharding.kind"));
  e = strategy::synchronized(strategy::small_normalized_images(2));
  e.strategy.kind = StrategyKind::local_sgd;
  EXPECT_THAT(problem_locations(e), ElementsAre("model.layers[3].synchronized"));
}

TEST(LocalSgd, caveat_states_the_averaging_interval_and_moments) {
  Experiment e = with_local_sgd(4);
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("every 8 steps"), HasSubstr("moments")));
  e.training.optimizer.momentum = 0;
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("every 8 steps"), testing::Not(HasSubstr("moments"))));
  e.strategy.local_sgd.rule = LocalRule::elastic;
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("center"), HasSubstr("every 8 steps")));
  e.training.steps = 7;
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("never moves"), HasSubstr("7 steps"), HasSubstr("every 8 steps")));
  e.strategy.local_sgd.rule = LocalRule::average;
  EXPECT_THAT(equivalence_caveats(e).value_or(""),
              AllOf(HasSubstr("at the end"), HasSubstr("7 steps")));
}

// 250 samples in steps of 4 x 8: seven full ones and a tail, twice; evaluated after each epoch.
TEST(LocalSgd, synchronizes_at_the_interval_at_evaluations_and_at_the_end) {
  Experiment e = with_local_sgd(4);
  e.strategy.local_sgd.average_every_steps = 3;
  EXPECT_EQ(strategy::resolved(e).steps, 16);
  EXPECT_EQ(count_meetings(strategy::resolved(e)), 5 + 2);
  e.data.held_out_samples = 0;
  EXPECT_EQ(count_meetings(strategy::resolved(e)), 5 + 1);
  const auto sent = sent_bytes(strategy::resolved(e));
  ASSERT_TRUE(sent.has_value());
  e.strategy.kind = StrategyKind::mirrored;
  const auto every_step = sent_bytes(strategy::resolved(e));
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ((*sent)[rank] * 16, (*every_step)[rank] * 6);
}

}  // namespace
}  // namespace trainyard::experiment
