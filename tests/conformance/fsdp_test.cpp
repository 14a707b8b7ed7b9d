// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by ranks that keep but their part of the model: together they equal one device, and
// what they send and keep is what the formulas say.
#include "core/experiment/fsdp.h"

#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::Shard;
using experiment::ShardGroup;
using experiment::StrategyKind;

Experiment by_fsdp(Experiment e, Shard shard) {
  e.strategy.kind = StrategyKind::fsdp;
  e.strategy.fsdp.shard = shard;
  return e;
}

Experiment unsharded(const Experiment& e) {
  Experiment one = e;
  one.topology = drawn_hosts(1, 1);
  one.strategy = {};
  one.strategy.kind = StrategyKind::one_device;
  one.training.batch_per_rank = e.training.batch_per_rank * experiment::count_workers(e.topology);
  return one;
}

// Gathers the shards of the ranks into the values of one device; the shards of a rank are adjacent.
std::vector<double> gathered_parts(const Experiment& e, const std::vector<RankOutcome>& ranks,
                                   std::vector<double> RankOutcome::*part) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  std::vector<double> whole(static_cast<std::size_t>(all.model.elements));
  const auto groups = experiment::shard_groups(all);
  for (const int rank : groups.front()) {
    const RankOutcome& outcome = ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.problem, base::Problem{});
    if (!outcome.problem.id.empty()) return whole;
    const bool is_whole = (outcome.*part).size() == whole.size();
    std::int64_t at = 0;
    for (const experiment::ElementRange& own : experiment::shards_of_rank(all, rank)) {
      std::copy_n((outcome.*part).begin() + (is_whole ? own.first : at), own.count,
                  whole.begin() + own.first);
      at += own.count;
    }
  }
  return whole;
}

void expect_fsdp_equals_one_device(const Experiment& e) {
  const RankOutcome one = trained(unsharded(e))[0];
  ASSERT_EQ(one.problem, base::Problem{});
  const auto many = trained(e);
  EXPECT_LE(distance(gathered_parts(e, many, &RankOutcome::parameters), one.parameters), 1e-10);
  if (!one.state.empty()) {
    EXPECT_LE(distance(many[0].state, one.state), 1e-10);
  }
  const auto last = static_cast<std::int32_t>(e.training.steps - 1);
  for (const std::int32_t step : {0, last})
    for (const telemetry::Metric metric :
         {telemetry::Metric::loss_sum, telemetry::Metric::correct, telemetry::Metric::samples})
      EXPECT_NEAR(sum_of(many, metric, step), sum_of({one}, metric, step), 1e-6);
  for (const telemetry::Metric metric :
       {telemetry::Metric::held_out_loss_sum, telemetry::Metric::held_out_correct,
        telemetry::Metric::held_out_samples})
    EXPECT_NEAR(sum_of(many, metric, last), sum_of({one}, metric, last), 1e-6);
  for (const RankOutcome& rank : many)
    for (const telemetry::Metric metric :
         {telemetry::Metric::reduced_gradient_norm, telemetry::Metric::update_ratio})
      EXPECT_NEAR(sum_of({rank}, metric, last), sum_of({one}, metric, last), 1e-6)
          << "charts show the full gradient, not shards";
}

struct FsdpCase {
  int ranks;
  Shard shard = Shard::full;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip_norm = 0;
  int hosts = 1;
  ShardGroup group = ShardGroup::world;
  std::int64_t accumulation = 1;
  bool reshards = true;
  std::int64_t prefetch = 1;
  Algorithm algorithm = Algorithm::ring;

  Experiment training() const {
    Experiment e = by_fsdp(small(ranks, 24), shard);
    e.topology = drawn_hosts(hosts, ranks / hosts);
    e.strategy.algorithm = algorithm;
    e.strategy.fsdp.group = group;
    e.strategy.fsdp.reshard_after_forward = reshards;
    e.strategy.fsdp.prefetch = prefetch;
    e.training.accumulation_steps = accumulation;
    e.training.optimizer = {.kind = optimizer, .learning_rate = 0.02, .epsilon = 1e-4};
    e.training.clip_norm = clip_norm;
    return e;
  }
};

void PrintTo(const FsdpCase& c, std::ostream* out) {
  *out << c.ranks << " ranks, " << base::name_of(c.shard) << ", " << base::name_of(c.optimizer)
       << (c.clip_norm > 0 ? ", clipped" : "") << ", " << c.hosts << " hosts, "
       << base::name_of(c.group) << ", " << c.accumulation << " micro-steps"
       << (c.reshards ? "" : ", kept") << ", prefetch " << c.prefetch << ", "
       << base::name_of(c.algorithm);
}

// With 241 samples and 24 per step, only rank 0 has the last one; in the next epoch each rank takes
// its own samples again.
TEST(ShardedTail, with_empty_ranks_equals_one_device) {
  for (const Shard shard : {Shard::optimizer, Shard::gradients, Shard::full}) {
    Experiment e = FsdpCase{3, shard}.training();
    e.data.train_samples = 241;
    expect_fsdp_equals_one_device(e);
  }
}

class ShardedTraining : public testing::TestWithParam<FsdpCase> {};

TEST_P(ShardedTraining, over_hundred_fp64_steps_equals_one_device) {
  expect_fsdp_equals_one_device(GetParam().training());
}

TEST_P(ShardedTraining, has_the_fp32_gradients_of_one_device) {
  Experiment e = one_step(GetParam().training());
  e.training.precision = experiment::Precision::fp32;
  EXPECT_LE(distance(gathered_parts(e, trained(e), &RankOutcome::gradients),
                     trained(unsharded(e))[0].gradients),
            1e-5);
}

TEST_P(ShardedTraining, is_proved) {
  const experiment::Resolved e = experiment::resolve(GetParam().training(), ".").value();
  for (const auto& plan : {strategy::coarse_plan(e), strategy::make_plan(e)}) {
    const base::Problems problems = check::check(plan.value());
    EXPECT_TRUE(problems.empty()) << base::to_string(problems.front());
  }
}

using O = OptimizerKind;
constexpr ShardGroup kWorld = ShardGroup::world, kHost = ShardGroup::host;
INSTANTIATE_TEST_SUITE_P(
    Strategies, ShardedTraining,
    testing::Values(FsdpCase{2}, FsdpCase{3, Shard::full, O::adam},
                    FsdpCase{4, Shard::full, O::sgd, 0.3}, FsdpCase{8, Shard::full, O::adamw},
                    FsdpCase{2, Shard::gradients, O::adam},
                    FsdpCase{3, Shard::gradients, O::sgd, 0.3}, FsdpCase{2, Shard::optimizer},
                    FsdpCase{4, Shard::optimizer, O::adamw, 0.3},
                    FsdpCase{4, Shard::full, O::adam, 0, 2, kHost},
                    FsdpCase{6, Shard::full, O::sgd, 0.3, 2, kHost},
                    FsdpCase{4, Shard::gradients, O::adam, 0, 2, kHost},
                    FsdpCase{6, Shard::optimizer, O::sgd, 0.3, 3, kHost},
                    FsdpCase{4, Shard::full, O::adam, 0, 2, kWorld},
                    FsdpCase{2, Shard::full, O::adam, 0, 1, kWorld, 3},
                    FsdpCase{3, Shard::gradients, O::sgd, 0.3, 1, kWorld, 2},
                    FsdpCase{2, Shard::optimizer, O::adam, 0, 1, kWorld, 3},
                    FsdpCase{4, Shard::full, O::adam, 0, 2, kHost, 2},
                    FsdpCase{3, Shard::full, O::adam, 0, 1, kWorld, 1, false},
                    FsdpCase{2, Shard::full, O::sgd, 0, 1, kWorld, 3, false},
                    FsdpCase{3, Shard::full, O::sgd, 0, 1, kWorld, 1, true, 0},
                    FsdpCase{3, Shard::full, O::adam, 0, 1, kWorld, 2, true, 7},
                    FsdpCase{4, Shard::full, O::sgd, 0, 1, kWorld, 1, true, 1, Algorithm::direct},
                    FsdpCase{5, Shard::gradients, O::adam, 0, 1, kWorld, 1, true, 1,
                             Algorithm::direct},
                    FsdpCase{8, Shard::full, O::sgd, 0, 2, kHost, 1, true, 2}));

TEST(ShardedModels, equal_one_device) {
  const std::pair<const char*, Experiment> cases[] = {
      {"a transformer", strategy::small_gpt(3)},
      {"its table for the logits", strategy::small_tied_gpt(2)},
      {"tables, and a wide half", strategy::small_wide_and_deep(2)},
      {"a residual block and dropout", strategy::small_images(2)},
      {"normalized over all ranks", strategy::synchronized(strategy::small_normalized_images(3))},
  };
  for (const auto& [name, experiment] : cases)
    for (const Shard shard : {Shard::full, Shard::gradients, Shard::optimizer}) {
      SCOPED_TRACE(std::string(name) + ", " + std::string(base::name_of(shard)));
      Experiment e = by_fsdp(experiment, shard);
      e.training.precision = experiment::Precision::fp64;
      e.training.steps = 60;
      e.training.optimizer.learning_rate = 0.01;
      const auto problems = experiment::validate(e, ".");
      ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
      expect_fsdp_equals_one_device(e);
      const base::Problems flaws =
          check::check(strategy::make_plan(experiment::resolve(e, ".").value()).value());
      EXPECT_TRUE(flaws.empty()) << base::to_string(flaws.front());
    }
}

}  // namespace
}  // namespace trainyard::tests
