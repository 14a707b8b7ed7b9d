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

Variant variant_of(std::int64_t ranks, Algorithm algorithm = Algorithm::ring,
                   Scaling scaling = Scaling::weak) {
  return {ranks, algorithm, scaling, 20};
}

TEST(Variant, trains_a_fixed_number_of_steps_without_evaluations) {
  Experiment whole = on_hosts(1, 4);
  whole.run.seconds_per_step = 2;
  const Experiment one = variant(whole, variant_of(2)).value();
  EXPECT_EQ(count_workers(one.topology), 2);
  const Resolved resolved = resolve(one, ".").value();
  EXPECT_EQ(resolved.steps, 20);
  EXPECT_GT(resolved.document.run.evaluate_every_steps, resolved.steps);
  EXPECT_EQ(one.run.seconds_per_step, 0);
}

TEST(Variant, keeps_seed_data_and_model) {
  const Experiment whole = on_hosts(2, 2),
                   one = variant(whole, variant_of(3, Algorithm::direct)).value();
  EXPECT_EQ(one.training.seed, whole.training.seed);
  EXPECT_EQ(one.data, whole.data);
  EXPECT_EQ(one.model, whole.model);
  EXPECT_EQ(one.strategy.algorithm, Algorithm::direct);
}

TEST(Variant, keeps_the_batch_per_rank_if_weak_and_the_global_batch_if_strong) {
  const Experiment whole = on_hosts(1, 4);  // 8 samples a rank
  for (const std::int64_t ranks : {1, 2, 4}) {
    EXPECT_EQ(resolve(variant(whole, variant_of(ranks)).value(), ".")->global_batch, 8 * ranks);
    EXPECT_EQ(
        resolve(variant(whole, variant_of(ranks, Algorithm::ring, Scaling::strong)).value(), ".")
            ->global_batch,
        32);
  }
}

TEST(Variant, requires_a_divisible_global_batch) {
  const auto three = variant(on_hosts(1, 4), variant_of(3, Algorithm::ring, Scaling::strong));
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().where, "training.batch_per_rank");
  EXPECT_EQ(three.error().id, "batch_not_divisible");
  Experiment in_micro_steps = on_hosts(1, 4);
  in_micro_steps.training.accumulation_steps = 3;
  EXPECT_EQ(variant(in_micro_steps, variant_of(3, Algorithm::ring, Scaling::strong)).error().id,
            "batch_not_divisible");
}

TEST(Variant, refuses_more_ranks_than_are_drawn) {
  const auto five = variant(on_hosts(1, 4), variant_of(5));
  ASSERT_FALSE(five);
  EXPECT_THAT(five.error(), IsProblem("more_ranks_than_drawn", "ranks"));
  EXPECT_EQ(five.error().accepted, "1 to 4");
  EXPECT_FALSE(variant(on_hosts(1, 4), variant_of(0)));
}

TEST(Variant, refuses_one_device) {
  Experiment whole = on_hosts(1, 1);
  whole.strategy.kind = StrategyKind::one_device;
  ASSERT_FALSE(variant(whole, variant_of(1)));
  EXPECT_EQ(variant(whole, variant_of(1)).error().id, "strategy_does_not_scale");
}

TEST(Variant, requires_an_all_reduce_by_the_built_in_engine) {
  Experiment whole = on_hosts(1, 2);
  whole.strategy.kind = StrategyKind::data_parallel;
  EXPECT_THAT(
      variant(whole, variant_of(2)).error(),
      AllOf(IsProblem("strategy_does_not_scale", "strategy.kind"), Mentions("data_parallel")));
  whole.strategy.kind = StrategyKind::parameter_server;
  whole.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  EXPECT_THAT(
      variant(whole, variant_of(1)).error(),
      AllOf(IsProblem("strategy_does_not_scale", "strategy.kind"), Mentions("parameter_server")));
  whole.topology.hosts[0].devices[1].role = topology::Role::worker;
  whole.strategy.kind = StrategyKind::ddp;
  EXPECT_TRUE(variant(whole, variant_of(2)));
  whole.strategy.engine = Engine::gloo;
  EXPECT_THAT(variant(whole, variant_of(2)).error(),
              AllOf(IsProblem("engine_without_bytes", "strategy.engine"), Mentions("gloo")));
}

TEST(Variant, refuses_an_algorithm_that_requires_even_hosts_on_uneven_hosts) {
  const Experiment whole = on_hosts(2, 2);
  EXPECT_TRUE(variant(whole, variant_of(4, Algorithm::sharded_hierarchical)));
  EXPECT_TRUE(variant(whole, variant_of(2, Algorithm::sharded_hierarchical))) << "both on one host";
  const auto three = variant(whole, variant_of(3, Algorithm::sharded_hierarchical));
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().id, "hosts_not_even");
}

TEST(Variant, refuses_an_algorithm_that_cannot_gather_encodings) {
  Experiment whole = on_hosts(1, 4);
  whole.strategy.compression.kind = compute::compression::Scheme::top_k;
  EXPECT_TRUE(variant(whole, variant_of(4, Algorithm::ring)));
  EXPECT_TRUE(variant(whole, variant_of(1, Algorithm::binary_tree))) << "one rank sends nothing";
  EXPECT_THAT(variant(whole, variant_of(4, Algorithm::binary_tree)).error(),
              AllOf(IsProblem("algorithm_cannot_gather", "strategy.algorithm"), Mentions("top_k")));
}

TEST(Variant, uses_mirrored_if_it_is_on_one_host) {
  Experiment whole = on_hosts(2, 2);
  whole.strategy.kind = StrategyKind::multi_worker_mirrored;
  EXPECT_EQ(variant(whole, variant_of(2))->strategy.kind, StrategyKind::mirrored);
  EXPECT_EQ(variant(whole, variant_of(4))->strategy.kind, StrategyKind::multi_worker_mirrored);
}

TEST(Variant, name_states_algorithm_and_ranks) {
  Experiment whole = on_hosts(1, 4);
  whole.name = "digits";
  EXPECT_EQ(variant(whole, variant_of(4, Algorithm::binary_tree))->name,
            "digits, binary_tree on 4 ranks");
  EXPECT_EQ(variant(whole, variant_of(1))->name, "digits, 1 rank");
  whole.name = std::string(200, 'x');
  EXPECT_TRUE(resolve(variant(whole, variant_of(4)).value(), "."))
      << "the name must not exceed the limit of documents";
}

// Totals of ORACLES: n (n - 1) S of all_to_all, otherwise 2 (n - 1) S.
TEST(SentBytes, match_the_formula_of_every_algorithm) {
  for (const auto& [algorithm, name] : base::Names<Algorithm>::table)
    for (const std::int64_t ranks : {1, 2, 3, 4, 6}) {
      if (algorithm == Algorithm::automatic) continue;
      const auto one = variant(on_hosts(2, 3), variant_of(ranks, algorithm));
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

TEST(SentBytes, include_the_broadcast_of_the_parameters_in_ddp) {
  Experiment whole = on_hosts(1, 4);
  whole.strategy.kind = StrategyKind::ddp;
  const Resolved resolved = resolve(variant(whole, variant_of(4)).value(), ".").value();
  const auto sent = sent_bytes(resolved).value();
  EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}),
            (20 * 2 + 1) * 3 * 4 * resolved.model.elements);
}

}  // namespace
}  // namespace trainyard::experiment
