// SPDX-License-Identifier: GPL-3.0-or-later
// A sample that holds NaN or an infinite number makes such a gradient on one rank: the run goes on,
// stops or skips the update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/conformance/trained_in_process.h"
#include "tests/problem_matchers.h"

namespace trainyard::tests {
namespace {

using experiment::NonFinite;
using telemetry::Metric;
using testing::HasSubstr;

constexpr std::int64_t kStep = 3;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

// Data set with another number as the first feature of the last sample in the batch of one step.
class Spoilt : public data::Dataset {
 public:
  Spoilt(std::shared_ptr<const data::Dataset> set, double number)
      : set_(std::move(set)), number_(number) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    set_->fill(split, indices, features, labels);
    if (split == data::Split::train && batches_++ == kStep)
      features[(indices.size() - 1) * static_cast<std::size_t>(summary().features())] =
          static_cast<float>(number_);
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
  double number_;
  mutable std::int64_t batches_ = 0;  // by the one thread that prefetches
};

std::vector<RankOutcome> trained_on_spoilt(const experiment::Experiment& e, int spoilt_rank,
                                           double number) {
  return train(experiment::resolve(e, ".").value(), compute::reference::make, in_process,
               [&](int rank, std::shared_ptr<const data::Dataset> set) {
                 return rank == spoilt_rank ? std::make_shared<const Spoilt>(std::move(set), number)
                                            : set;
               });
}

experiment::Experiment small_with(NonFinite policy, int ranks) {
  experiment::Experiment e = small(ranks, 24);
  if (ranks == 1) e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.steps = 30;
  e.training.non_finite = policy;
  return e;
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

std::vector<double> values_of_step(const RankOutcome& rank, Metric metric, std::int64_t step) {
  std::vector<double> values;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(metric) && event.step == step)
      values.push_back(event.value);
  return values;
}

class NonFiniteGradient : public testing::TestWithParam<double> {};

TEST_P(NonFiniteGradient, corrupts_the_weights_with_policy_go_on) {
  for (const RankOutcome& rank :
       trained_on_spoilt(small_with(NonFinite::go_on, 3), 1, GetParam())) {
    EXPECT_EQ(rank.problem, base::Problem{});
    EXPECT_FALSE(all_finite(rank.parameters));
  }
}

TEST_P(NonFiniteGradient, stops_the_run_at_its_rank_step_and_segment) {
  for (const RankOutcome& rank : trained_on_spoilt(small_with(NonFinite::stop, 3), 1, GetParam())) {
    EXPECT_THAT(
        rank.problem,
        base::IsProblem("non_finite_gradient",
                        testing::MatchesRegex("rank 1, step 3, op W\\.s.*: layer [0-9] linear .*")))
        << "all ranks name the rank with the first non-finite gradient";
  }
}

TEST_P(NonFiniteGradient, changes_no_weight_with_policy_skip) {
  for (const auto optimizer : {experiment::OptimizerKind::sgd, experiment::OptimizerKind::adamw})
    for (const double clip : {0.0, 0.5}) {
      const auto with = [&](int ranks) {
        experiment::Experiment e = small_with(NonFinite::skip, ranks);
        e.training.optimizer.kind = optimizer;
        e.training.optimizer.weight_decay = 0.01;
        e.training.clip_norm = clip;
        return e;
      };
      const auto alone = trained_on_spoilt(with(1), 0, GetParam()),
                 many = trained_on_spoilt(with(3), 2, GetParam()),
                 sound = trained_on_spoilt(with(3), -1, 0);
      for (const RankOutcome& rank : many) {
        ASSERT_EQ(rank.problem, base::Problem{});
        ASSERT_TRUE(all_finite(rank.parameters));
        EXPECT_EQ(rank.parameters, many[0].parameters);
        EXPECT_LE(distance(rank.parameters, alone[0].parameters), 1e-10)
            << "one device skips the same step";
        EXPECT_GT(distance(rank.parameters, sound[0].parameters), 1e-6)
            << "an update would have changed them";
      }
    }
}

TEST_P(NonFiniteGradient, that_is_skipped_is_reported_by_its_rank) {
  const auto ranks = trained_on_spoilt(small_with(NonFinite::skip, 3), 1, GetParam());
  EXPECT_TRUE(all_finite(values_of_step(ranks[0], Metric::local_gradient_norm, kStep)));
  EXPECT_FALSE(all_finite(values_of_step(ranks[1], Metric::local_gradient_norm, kStep)));
  for (const RankOutcome& rank : ranks) {
    EXPECT_FALSE(all_finite(values_of_step(rank, Metric::reduced_gradient_norm, kStep)));
    EXPECT_THAT(values_of_step(rank, Metric::update_ratio, kStep), testing::Each(0));
    EXPECT_TRUE(values_of_step(rank, Metric::skipped_updates, kStep - 1).empty());
    EXPECT_THAT(values_of_step(rank, Metric::skipped_updates, kStep), testing::ElementsAre(1));
    EXPECT_THAT(values_of_step(rank, Metric::skipped_updates, 29), testing::ElementsAre(1));
  }
}

// Residuals, and the running statistics of batch normalization, must not keep the value forever.
TEST_P(NonFiniteGradient, that_is_skipped_does_not_change_the_residual) {
  using compute::compression::Scheme;
  for (const Scheme scheme : {Scheme::fp16, Scheme::bf16, Scheme::int8, Scheme::sign, Scheme::top_k,
                              Scheme::random_k, Scheme::power_sgd}) {
    experiment::Experiment e = small_with(NonFinite::skip, 3);
    e.training.precision = experiment::Precision::fp32;
    e.training.optimizer.momentum = 0;
    e.training.steps = 60;
    e.strategy.compression = {scheme, 0.5, 2, true};
    for (const RankOutcome& rank : trained_on_spoilt(e, 1, GetParam())) {
      ASSERT_EQ(rank.problem, base::Problem{}) << base::name_of(scheme);
      EXPECT_TRUE(all_finite(rank.parameters)) << base::name_of(scheme);
      const auto before = values_of_step(rank, Metric::skipped_updates, 49),
                 last = values_of_step(rank, Metric::skipped_updates, 59);
      ASSERT_EQ(last.size(), 1u) << base::name_of(scheme);
      EXPECT_EQ(before, last) << base::name_of(scheme) << ": none of the last ten steps is skipped";
    }
  }
}

TEST_P(NonFiniteGradient, that_is_skipped_does_not_change_running_statistics) {
  experiment::Experiment e = strategy::small_normalized_images(2);
  e.training.precision = experiment::Precision::fp64;
  e.training.optimizer.learning_rate = 0.01;
  e.training.steps = 10;
  e.training.non_finite = NonFinite::skip;
  for (const RankOutcome& rank : trained_on_spoilt(e, 1, GetParam())) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_TRUE(all_finite(rank.parameters));
    EXPECT_THAT(values_of_step(rank, Metric::skipped_updates, 9), testing::ElementsAre(1));
    EXPECT_THAT(values_of_step(rank, Metric::held_out_loss_sum, 9),
                testing::Each(testing::Truly([](double loss) { return std::isfinite(loss); })));
    EXPECT_FALSE(values_of_step(rank, Metric::held_out_loss_sum, 9).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers, NonFiniteGradient, testing::Values(kNaN, kInfinity),
                         [](const auto& row) {
                           return std::isnan(row.param) ? "NaN" : "infinite";
                         });

TEST(NonFinite, policies_do_not_change_finite_training) {
  const auto usual = trained_on_spoilt(small_with(NonFinite::go_on, 2), -1, 0);
  for (const NonFinite policy : {NonFinite::stop, NonFinite::skip})
    EXPECT_EQ(trained_on_spoilt(small_with(policy, 2), -1, 0)[1].parameters, usual[1].parameters);
}

}  // namespace
}  // namespace trainyard::tests
