// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/experiment/placement.h"
#include "core/experiment/sent_bytes.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using collective::Algorithm;
using testing::AllOf;

Experiment on_hosts(int hosts, int devices) {
  Experiment e = strategy::small(hosts * devices);
  e.topology = tests::drawn_hosts(hosts, devices);
  return e;
}

Variant of(std::int64_t ranks, Algorithm algorithm = Algorithm::ring,
           Scaling scaling = Scaling::weak) {
  return {ranks, algorithm, scaling, 20};
}

TEST(Variant, trains_so_many_steps_at_full_speed_without_evaluations_on_the_way) {
  Experiment whole = on_hosts(1, 4);
  whole.run.seconds_per_step = 2;
  const Experiment one = variant(whole, of(2)).value();
  EXPECT_EQ(count_workers(one.topology), 2);
  const Resolved resolved = resolve(one, ".").value();
  EXPECT_EQ(resolved.steps, 20);
  EXPECT_GT(resolved.document.run.evaluate_every_steps, resolved.steps);
  EXPECT_EQ(one.run.seconds_per_step, 0);
}

TEST(Variant, keeps_seed_data_and_model) {
  const Experiment whole = on_hosts(2, 2), one = variant(whole, of(3, Algorithm::direct)).value();
  EXPECT_EQ(one.training.seed, whole.training.seed);
  EXPECT_EQ(one.data, whole.data);
  EXPECT_EQ(one.model, whole.model);
  EXPECT_EQ(one.strategy.algorithm, Algorithm::direct);
}

TEST(Variant, of_weak_scaling_keeps_the_batch_of_each_rank_and_of_strong_scaling_the_global_one) {
  const Experiment whole = on_hosts(1, 4);  // 8 samples a rank
  for (const std::int64_t ranks : {1, 2, 4}) {
    EXPECT_EQ(resolve(variant(whole, of(ranks)).value(), ".")->global_batch, 8 * ranks);
    EXPECT_EQ(resolve(variant(whole, of(ranks, Algorithm::ring, Scaling::strong)).value(), ".")
                  ->global_batch,
              32);
  }
}

TEST(Variant, of_a_global_batch_that_cannot_be_shared_evenly_is_refused) {
  const auto three = variant(on_hosts(1, 4), of(3, Algorithm::ring, Scaling::strong));
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().where, "training.batch_per_rank");
  EXPECT_EQ(three.error().id, "batch_not_divisible");
  Experiment in_micro_steps = on_hosts(1, 4);
  in_micro_steps.training.accumulation_steps = 3;
  EXPECT_EQ(variant(in_micro_steps, of(3, Algorithm::ring, Scaling::strong)).error().id,
            "batch_not_divisible");
}

TEST(Variant, of_more_ranks_than_are_drawn_is_refused_and_says_how_many_are) {
  const auto five = variant(on_hosts(1, 4), of(5));
  ASSERT_FALSE(five);
  EXPECT_THAT(five.error(), IsProblem("too_few_ranks", "ranks"));
  EXPECT_EQ(five.error().accepted, "1 to 4");
  EXPECT_FALSE(variant(on_hosts(1, 4), of(0)));
}

TEST(Variant, of_one_device_is_refused) {
  Experiment whole = on_hosts(1, 1);
  whole.strategy.kind = StrategyKind::one_device;
  ASSERT_FALSE(variant(whole, of(1)));
  EXPECT_EQ(variant(whole, of(1)).error().id, "strategy_does_not_scale");
}

TEST(Variant, of_what_no_algorithm_of_ours_sums_is_refused) {
  Experiment whole = on_hosts(1, 2);
  whole.strategy.kind = StrategyKind::data_parallel;
  EXPECT_THAT(
      variant(whole, of(2)).error(),
      AllOf(IsProblem("strategy_does_not_scale", "strategy.kind"), Mentions("data_parallel")));
  whole.strategy.kind = StrategyKind::parameter_server;
  whole.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  EXPECT_THAT(
      variant(whole, of(1)).error(),
      AllOf(IsProblem("strategy_does_not_scale", "strategy.kind"), Mentions("parameter_server")));
  whole.topology.hosts[0].devices[1].role = topology::Role::worker;
  whole.strategy.kind = StrategyKind::ddp;
  EXPECT_TRUE(variant(whole, of(2)));
  whole.strategy.engine = Engine::gloo;
  EXPECT_THAT(variant(whole, of(2)).error(),
              AllOf(IsProblem("engine_without_bytes", "strategy.engine"), Mentions("gloo")));
}

TEST(Variant, by_an_algorithm_that_asks_for_even_hosts_is_refused_where_they_are_not) {
  const Experiment whole = on_hosts(2, 2);
  EXPECT_TRUE(variant(whole, of(4, Algorithm::sharded_hierarchical)));
  EXPECT_TRUE(variant(whole, of(2, Algorithm::sharded_hierarchical))) << "both on one host";
  const auto three = variant(whole, of(3, Algorithm::sharded_hierarchical));
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().id, "hosts_not_even");
}

TEST(Variant, by_an_algorithm_that_a_compression_does_not_go_with_is_refused) {
  Experiment whole = on_hosts(1, 4);
  whole.strategy.compression.kind = compute::compression::Scheme::top_k;
  EXPECT_TRUE(variant(whole, of(4, Algorithm::ring)));
  EXPECT_TRUE(variant(whole, of(1, Algorithm::binary_tree))) << "one rank sends nothing";
  EXPECT_THAT(variant(whole, of(4, Algorithm::binary_tree)).error(),
              AllOf(IsProblem("algorithm_cannot_gather", "strategy.algorithm"), Mentions("top_k")));
}

TEST(Variant, of_several_hosts_on_the_first_alone_is_mirrored) {
  Experiment whole = on_hosts(2, 2);
  whole.strategy.kind = StrategyKind::multi_worker_mirrored;
  EXPECT_EQ(variant(whole, of(2))->strategy.kind, StrategyKind::mirrored);
  EXPECT_EQ(variant(whole, of(4))->strategy.kind, StrategyKind::multi_worker_mirrored);
}

TEST(Variant, is_named_for_what_it_is) {
  Experiment whole = on_hosts(1, 4);
  whole.name = "digits";
  EXPECT_EQ(variant(whole, of(4, Algorithm::binary_tree))->name, "digits, binary_tree on 4 ranks");
  EXPECT_EQ(variant(whole, of(1))->name, "digits, 1 rank");
  whole.name = std::string(200, 'x');
  EXPECT_TRUE(resolve(variant(whole, of(4)).value(), "."))
      << "a name stays as long as a document takes";
}

// Totals of ORACLES: 2 (n - 1) S of all but the naive one, which sends n (n - 1) S.
TEST(SentBytes, of_every_algorithm_are_those_of_its_formula) {
  for (const auto& [algorithm, name] : base::Names<Algorithm>::table)
    for (const std::int64_t ranks : {1, 2, 3, 4, 6}) {
      if (algorithm == Algorithm::automatic) continue;
      const auto one = variant(on_hosts(2, 3), of(ranks, algorithm));
      if (!one) continue;
      const Resolved resolved = resolve(*one, ".").value();
      const auto sent = sent_bytes(resolved).value();
      ASSERT_EQ(std::ssize(sent), ranks);
      const std::int64_t gradient = 4 * resolved.model.elements,
                         times = algorithm == Algorithm::all_to_all ? ranks : 2;
      EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}),
                20 * times * (ranks - 1) * gradient)
          << name << " " << ranks;
    }
}

TEST(SentBytes, of_ddp_hold_the_one_broadcast_of_the_parameters) {
  Experiment whole = on_hosts(1, 4);
  whole.strategy.kind = StrategyKind::ddp;
  const Resolved resolved = resolve(variant(whole, of(4)).value(), ".").value();
  const auto sent = sent_bytes(resolved).value();
  EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}),
            (20 * 2 + 1) * 3 * 4 * resolved.model.elements);
}

}  // namespace
}  // namespace trainyard::experiment
