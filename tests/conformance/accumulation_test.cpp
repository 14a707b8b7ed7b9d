// SPDX-License-Identifier: GPL-3.0-or-later
// Real training in micro-steps: k of them equal one batch k times as large, whatever the strategy,
// and send no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::OptimizerKind;
using experiment::StrategyKind;

// A global batch of 24 in `micro_steps` of a rank. 250 samples leave a tail of 10: with four ranks
// of two micro-steps of 3, ranks take 3, 3, 2 and 2 samples in one micro-step; with one rank of
// eight micro-steps of 3, the tail has three of 3 and one of 1.
struct AccumulationCase {
  StrategyKind kind;
  int ranks;
  std::int64_t micro_steps;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip_norm = 0;

  experiment::Experiment training(experiment::Experiment e) const {
    e.strategy.kind = kind;
    e.training.optimizer.kind = optimizer;
    e.training.clip_norm = clip_norm;
    return in_micro_steps(e, micro_steps);
  }
};

void PrintTo(const AccumulationCase& c, std::ostream* out) {
  *out << base::name_of(c.kind) << ", " << c.ranks << " ranks, " << c.micro_steps
       << " micro-steps, " << base::name_of(c.optimizer) << (c.clip_norm > 0 ? ", clipped" : "");
}

experiment::Experiment in_one(const AccumulationCase& c) {
  experiment::Experiment e = small(1, 24);
  e.strategy.kind = StrategyKind::one_device;
  e.training.optimizer.kind = c.optimizer;
  e.training.clip_norm = c.clip_norm;
  return e;
}

class Accumulation : public testing::TestWithParam<AccumulationCase> {};

TEST_P(Accumulation, hundred_fp64_steps_equal_one_device_with_the_full_batch) {
  const auto one = trained(in_one(GetParam())),
             ranks = trained(GetParam().training(small(GetParam().ranks, 24)));
  ASSERT_EQ(one[0].problem, base::Problem{});
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.parameters, one[0].parameters), 1e-10);
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
}

TEST_P(Accumulation, one_fp32_step_has_the_gradients_of_the_full_batch) {
  experiment::Experiment whole = in_one(GetParam()),
                         parts = GetParam().training(small(GetParam().ranks, 24));
  for (auto* e : {&whole, &parts}) e->training.precision = experiment::Precision::fp32;
  expect_gradients_of(trained(one_step(whole))[0], trained(one_step(parts)));
}

// Values of one step by metric and index.
std::map<std::pair<int, int>, double> metrics_of(const RankOutcome& rank, std::int32_t step) {
  std::map<std::pair<int, int>, double> values;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric && event.step == step)
      values[{event.subject, event.index}] = event.value;
  return values;
}

// The same ranks with the whole batch at once: loss, hits and norms of each rank, before and after
// reduction.
TEST_P(Accumulation, reports_the_figures_of_the_full_batch) {
  using telemetry::Metric;
  AccumulationCase whole_case = GetParam();
  whole_case.micro_steps = 1;
  const auto parts = trained(GetParam().training(small(GetParam().ranks, 24))),
             whole = trained(whole_case.training(small(GetParam().ranks, 24)));
  int compared = 0;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    for (const std::int32_t step : {0, 10, 11, 99}) {  // 10: the tail of an epoch
      auto found = metrics_of(parts[rank], step), expected = metrics_of(whole[rank], step);
      for (const Metric metric : {Metric::loss_sum, Metric::correct, Metric::samples,
                                  Metric::local_gradient_norm, Metric::reduced_gradient_norm})
        for (int segment = 0; segment < 3; ++segment) {
          const std::pair<int, int> key{static_cast<int>(metric), segment};
          ASSERT_EQ(found.contains(key), expected.contains(key));
          if (!expected.contains(key)) continue;
          EXPECT_NEAR(found[key], expected[key], 1e-8 * (1 + std::abs(expected[key])))
              << base::name_of(metric) << " of segment " << segment << ", step " << step;
          ++compared;
        }
    }
  EXPECT_EQ(compared, std::ssize(parts) * 4 * 9);
}

// Ranks of fsdp that scatter gradients after every micro-step never hold their full gradient. In
// the tail of the epoch they make a single micro-step, and hold it.
TEST(AccumulationOfShards, reports_local_norms_of_scattered_gradients_only_where_they_are_known) {
  using telemetry::Metric;
  for (const auto shard : {experiment::Shard::full, experiment::Shard::gradients}) {
    AccumulationCase one{StrategyKind::fsdp, 4, 1}, two{StrategyKind::fsdp, 4, 2};
    const auto run = [&](const AccumulationCase& c) {
      experiment::Experiment e = c.training(small(4, 24));
      e.strategy.fsdp.shard = shard;
      e.training.steps = 14;
      return trained(e);
    };
    const auto whole = run(one), parts = run(two);
    const std::pair<int, int> key{static_cast<int>(Metric::local_gradient_norm), 0};
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      for (std::int32_t step = 0; step < 14; ++step) {
        auto found = metrics_of(parts[rank], step), expected = metrics_of(whole[rank], step);
        ASSERT_TRUE(expected.contains(key));
        ASSERT_EQ(found.contains(key), step == 10) << "rank " << rank << ", step " << step;
        if (step == 10) {
          EXPECT_NEAR(found[key], expected[key], 1e-8 * (1 + expected[key]));
        }
      }
  }
}

TEST_P(Accumulation, uses_every_sample_once_per_epoch) {
  experiment::Experiment e = GetParam().training(small(GetParam().ranks, 24));
  e.training.steps = 0;
  e.training.epochs = 2;
  const auto resolved = experiment::resolve(e, ".").value();
  std::map<std::int32_t, double> samples;  // by step
  for (const RankOutcome& rank : trained(e))
    for (const telemetry::Event& event : rank.events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(telemetry::Metric::samples))
        samples[event.step] += event.value;
  ASSERT_EQ(std::ssize(samples), 2 * 11);
  for (std::int32_t step = 0; step < 22; ++step)
    EXPECT_EQ(samples[step], step % 11 == 10 ? 10 : 24);
}

TEST_P(Accumulation, sends_the_bytes_of_one_batch) {
  AccumulationCase whole_case = GetParam();
  whole_case.micro_steps = 1;
  experiment::Experiment parts = GetParam().training(small(GetParam().ranks, 24)),
                         whole = whole_case.training(small(GetParam().ranks, 24));
  for (auto* e : {&parts, &whole}) e->training.steps = 12;
  const auto found = trained(parts), expected = trained(whole);
  for (std::size_t rank = 0; rank < found.size(); ++rank)
    for (std::size_t peer = 0; peer < found[rank].traffic.size(); ++peer) {
      EXPECT_EQ(found[rank].traffic[peer].sent_payload_bytes,
                expected[rank].traffic[peer].sent_payload_bytes);
      EXPECT_EQ(found[rank].traffic[peer].received_payload_bytes,
                expected[rank].traffic[peer].received_payload_bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Accumulation,
    testing::Values(AccumulationCase{StrategyKind::one_device, 1, 2},
                    AccumulationCase{StrategyKind::one_device, 1, 8, OptimizerKind::adam},
                    AccumulationCase{StrategyKind::mirrored, 1, 3},
                    AccumulationCase{StrategyKind::mirrored, 2, 2, OptimizerKind::sgd, 0.5},
                    AccumulationCase{StrategyKind::mirrored, 3, 4, OptimizerKind::adamw},
                    AccumulationCase{StrategyKind::mirrored, 4, 2},
                    AccumulationCase{StrategyKind::ddp, 2, 4, OptimizerKind::adam, 0.5},
                    AccumulationCase{StrategyKind::ddp, 3, 2},
                    AccumulationCase{StrategyKind::ddp, 4, 3}));

// One epoch in micro-steps of five samples. A rank whose shard ends within a step takes fewer
// samples.
TEST(Accumulated, shards_of_unequal_size_train_in_micro_steps) {
  experiment::Experiment whole = small(3, 45);
  whole.data.sharding.kind = data::ShardingKind::size_skew;
  const auto found = trained(in_micro_steps(whole, 3)), expected = trained(whole);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(found[rank].problem, base::Problem{});
    EXPECT_LE(distance(found[rank].parameters, expected[rank].parameters), 1e-10);
  }
}

// Dropout drops by sample and step, so in micro-steps the same.
TEST(Accumulated, images_with_dropout_equal_the_full_batch) {
  const auto of = [](int ranks, std::int64_t micro_steps) {
    experiment::Experiment e = strategy::small_images(ranks);
    e.training.batch_per_rank = 24 / ranks;
    e.training.steps = 100;
    e.training.precision = experiment::Precision::fp64;
    e.training.optimizer.learning_rate = 0.01;
    e.strategy.bucket_bytes = 600;
    return in_micro_steps(e, micro_steps);
  };
  const auto one = trained(of(1, 1));
  for (const auto& [ranks, micro_steps] : {std::pair{1, 4}, {2, 3}, {3, 2}})
    for (const RankOutcome& rank : trained(of(ranks, micro_steps))) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_LE(distance(rank.parameters, one[0].parameters), 1e-10) << ranks;
    }
}

// It normalizes by the samples of each micro-step: near the whole batch, but not equal.
TEST(Accumulated, batch_normalization_is_per_micro_step) {
  const auto of = [](std::int64_t micro_steps) {
    experiment::Experiment e = strategy::small_normalized_images(2);
    e.training.batch_per_rank = 12;
    e.training.steps = 30;
    e.training.precision = experiment::Precision::fp64;
    e.training.optimizer.learning_rate = 0.01;
    return in_micro_steps(e, micro_steps);
  };
  const auto whole = trained(of(1)), parts = trained(of(3));
  for (const RankOutcome& rank : parts) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, parts[0].parameters);
  }
  const double apart = distance(parts[0].parameters, whole[0].parameters);
  EXPECT_GT(apart, 1e-6);
  EXPECT_LT(apart, 0.5);
}

}  // namespace
}  // namespace trainyard::tests
