// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of rows that samples look up, in an embedding_bag and in a wide layer, train by every
// strategy as one device trains them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/problem_matchers.h"

namespace trainyard::tests {
namespace {

using compute::compression::Scheme;
using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::StrategyKind;

// 24 samples a step leave a tail of 10 in an epoch of 250.
Experiment clicks(int ranks, bool wide = false) {
  Experiment e = wide ? strategy::small_wide_and_deep(ranks) : strategy::small_clicks(ranks);
  e.training.batch_per_rank = 24 / ranks;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.learning_rate = 0.05;
  return e;
}

Experiment on_one_device(bool wide = false) {
  Experiment e = clicks(1, wide);
  e.strategy.kind = StrategyKind::one_device;
  return e;
}

// Two of the devices are servers.
topology::Topology drawn_with_servers(int workers) {
  topology::Topology t = drawn_hosts(1, workers + 2);
  for (const std::size_t server : {0, 2})
    t.hosts[0].devices[server].role = topology::Role::parameter_server;
  return t;
}

topology::Topology drawn_for(StrategyKind kind, int ranks) {
  switch (kind) {
    case StrategyKind::central_storage: return drawn_storage(ranks);
    case StrategyKind::multi_worker_mirrored: return drawn_hosts(ranks, 1);
    case StrategyKind::parameter_server: return drawn_with_servers(ranks);
    default: return drawn_hosts(1, ranks);
  }
}

struct EmbeddingCase {
  StrategyKind kind;
  int ranks;  // that compute
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip = 0;
  std::int64_t micro_steps = 1;
  bool wide = false;  // with a wide layer

  EmbeddingCase widened() const { return {kind, ranks, optimizer, clip, micro_steps, true}; }
  Experiment with_optimizer(Experiment e) const {
    e.training.optimizer.kind = optimizer;
    e.training.clip_norm = clip;
    return e;
  }
  Experiment training() const {
    Experiment e = with_optimizer(clicks(ranks, wide));
    e.strategy.kind = kind;
    e.strategy.servers.mode = experiment::ServerMode::synchronous;
    e.topology = drawn_for(kind, ranks);
    e.training.batch_per_rank /= micro_steps;
    e.training.accumulation_steps = micro_steps;
    return e;
  }
};

void PrintTo(const EmbeddingCase& c, std::ostream* out) {
  *out << base::name_of(c.kind) << ", " << c.ranks << " ranks, " << base::name_of(c.optimizer)
       << (c.clip > 0 ? ", clipped" : "") << ", micro-steps " << c.micro_steps
       << (c.wide ? ", wide" : "");
}

class Embedding : public testing::TestWithParam<EmbeddingCase> {};

const std::vector<EmbeddingCase> kCases{
    EmbeddingCase{StrategyKind::mirrored, 2},
    EmbeddingCase{StrategyKind::mirrored, 4, OptimizerKind::adam, 0.5},
    EmbeddingCase{StrategyKind::mirrored, 12},
    EmbeddingCase{StrategyKind::mirrored, 3, OptimizerKind::sgd, 0, 4},
    EmbeddingCase{StrategyKind::multi_worker_mirrored, 3, OptimizerKind::adamw},
    EmbeddingCase{StrategyKind::ddp, 4},
    EmbeddingCase{StrategyKind::ddp, 2, OptimizerKind::sgd, 0, 3},
    EmbeddingCase{StrategyKind::central_storage, 3},
    EmbeddingCase{StrategyKind::central_storage, 2, OptimizerKind::adam, 0.5},
    EmbeddingCase{StrategyKind::data_parallel, 3},
    EmbeddingCase{StrategyKind::data_parallel, 12, OptimizerKind::adam},
    EmbeddingCase{StrategyKind::parameter_server, 3},
    EmbeddingCase{StrategyKind::parameter_server, 2, OptimizerKind::adam, 0, 3}};

std::vector<EmbeddingCase> all_widened() {
  std::vector<EmbeddingCase> cases;
  for (const EmbeddingCase& c : kCases) cases.push_back(c.widened());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Strategies, Embedding, testing::ValuesIn(kCases));
INSTANTIATE_TEST_SUITE_P(StrategiesWithWide, Embedding, testing::ValuesIn(all_widened()));

TEST_P(Embedding, hundred_fp64_steps_equal_one_device) {
  const auto one = trained(GetParam().with_optimizer(on_one_device(GetParam().wide))),
             ranks = trained(GetParam().training());
  ASSERT_EQ(one[0].problem, base::Problem{});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ASSERT_EQ(ranks[rank].problem, base::Problem{});
    if (!experiment::keeps_parameters(GetParam().training(), static_cast<int>(rank))) continue;
    EXPECT_LE(distance(ranks[rank].parameters, one[0].parameters), 1e-10) << rank;
    EXPECT_EQ(ranks[rank].parameters, ranks[0].parameters) << rank;  // bit-identical
  }
}

TEST_P(Embedding, plan_is_proved) {
  const base::Problems problems = check::check(
      strategy::make_plan(experiment::resolve(GetParam().training(), ".").value()).value());
  EXPECT_THAT(problems, testing::IsEmpty()) << base::to_string(problems);
}

// The multiplies of a tpu are its linear layers'; a bag has none.
TEST(EmbeddingTraining, on_tpus_equals_one_device_in_the_same_precision) {
  Experiment alone = on_one_device(), tpus = clicks(4);
  tpus.topology = drawn_tpus(1, 4);
  tpus.strategy.kind = StrategyKind::tpu;
  tpus.strategy.algorithm = collective::Algorithm::automatic;
  for (Experiment* e : {&alone, &tpus})
    e->training.precision = experiment::Precision::fp32,
    e->training.multiplies = experiment::Multiplies::bfloat16;
  const auto one = trained(alone), ranks = trained(tpus);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.parameters, one[0].parameters), 1e-4);
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
}

TEST(EmbeddingTraining, with_averaged_weights_keeps_ranks_identical) {
  Experiment e = clicks(3);
  e.strategy.average = experiment::AveragedQuantity::weights;
  const auto ranks = trained(e);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
}

TEST(EmbeddingTraining, with_every_compression_keeps_ranks_identical_and_numbers_finite) {
  for (const Scheme scheme : {Scheme::fp16, Scheme::bf16, Scheme::int8, Scheme::sign, Scheme::top_k,
                              Scheme::random_k, Scheme::power_sgd}) {
    Experiment e = clicks(3);
    e.training.precision = experiment::Precision::fp32;
    e.training.optimizer.learning_rate = 0.01;
    e.strategy.compression = {scheme, 0.1, 2, scheme != Scheme::fp16 && scheme != Scheme::bf16};
    const auto ranks = trained(e);
    for (const RankOutcome& rank : ranks) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_EQ(rank.parameters, ranks[0].parameters) << base::name_of(scheme);
      EXPECT_TRUE(std::isfinite(norm(rank.parameters))) << base::name_of(scheme);
    }
  }
}

TEST(WideTraining, allocates_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(clicks(2, true), in_process), testing::Each(0));
}
TEST(EmbeddingTraining, allocates_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(clicks(2), in_process), testing::Each(0));
}

std::vector<double> rows_of(const RankOutcome& rank, std::int64_t first, std::int64_t count) {
  const auto begin = rank.parameters.begin() + first * 4;
  return {begin, begin + count * 4};
}

// 3 x 13 of 42 rows are drawn; the others keep their initial values without weight decay.
TEST(EmbeddingTraining, updates_only_rows_in_the_samples) {
  Experiment never = on_one_device(), often = on_one_device();
  never.training.optimizer.learning_rate = 0;
  const auto before = trained(never)[0], after = trained(often)[0];
  ASSERT_EQ(after.problem, base::Problem{});
  EXPECT_EQ(rows_of(after, 39, 3), rows_of(before, 39, 3));
  for (const std::int64_t slot : {0, 1, 2})
    EXPECT_NE(rows_of(after, 13 * slot, 1), rows_of(before, 13 * slot, 1))
        << "the most frequent index of a slot";
}

// Index that is not a row of the table, which validated data never contain.
class Astray : public data::Dataset {
 public:
  explicit Astray(std::shared_ptr<const data::Dataset> of) : of_(std::move(of)) {}
  const data::DataSummary& summary() const override { return of_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    of_->fill(split, indices, features, labels);
    if (!features.empty()) features[0] = 42;
  }

 private:
  std::shared_ptr<const data::Dataset> of_;
};

TEST(EmbeddingTraining, with_an_invalid_index_gives_nan_and_can_stop_the_run) {
  Experiment e = clicks(2);
  const auto astray = [](int, std::shared_ptr<const data::Dataset> set) {
    return std::make_shared<Astray>(std::move(set));
  };
  const auto go_on =
      train(experiment::resolve(e, ".").value(), compute::reference::make, in_process, astray);
  EXPECT_EQ(go_on[0].problem, base::Problem{});
  EXPECT_TRUE(std::isnan(norm(go_on[0].parameters)));
  e.training.non_finite = experiment::NonFinite::stop;
  const auto stop =
      train(experiment::resolve(e, ".").value(), compute::reference::make, in_process, astray);
  EXPECT_THAT(stop[0].problem,
              base::IsProblem("non_finite_gradient", testing::HasSubstr("layer ")));
}

}  // namespace
}  // namespace trainyard::tests
