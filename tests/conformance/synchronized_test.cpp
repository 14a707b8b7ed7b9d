// SPDX-License-Identifier: GPL-3.0-or-later
// Real training with synchronized batch normalization: n ranks equal one device with the n-fold
// batch, in running statistics too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "backends/inproc/transport.h"
#include "core/experiment/fields.h"
#include "core/experiment/sent_bytes.h"
#include "tests/conformance/synchronized_training.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::OptimizerKind;
using experiment::StrategyKind;
using model::LayerKind;

// No more of them than are needed.
std::vector<std::unique_ptr<comm::Transport>> in_two_channels(int ranks, std::size_t arena_bytes) {
  return inproc::make(ranks, arena_bytes, {2}).value();
}
std::vector<RankOutcome> trained_synchronized(const experiment::Experiment& e) {
  return trained_by(e, in_two_channels);
}

// Tests every position of the layer: before all, between two, after the last but one.
experiment::Experiment normalized(int ranks) {
  experiment::Experiment e = small(ranks, 24);
  const model::LayerSpec normal{.kind = LayerKind::batch_norm, .synchronized = true};
  e.model.layers = {normal,
                    {LayerKind::linear, 9},
                    normal,
                    {LayerKind::tanh, 0},
                    {LayerKind::linear, 6},
                    normal,
                    {LayerKind::relu, 0},
                    {LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 200;
  return e;
}

struct SynchronizedCase {
  int ranks;
  Algorithm algorithm = Algorithm::ring;
  StrategyKind kind = StrategyKind::mirrored;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip_norm = 0;
  int hosts = 1;
  std::int64_t segment_bytes = 0;

  experiment::Experiment training(int of_ranks) const {
    experiment::Experiment e = normalized(of_ranks);
    e.topology = drawn_hosts(of_ranks == 1 ? 1 : hosts, of_ranks == 1 ? 1 : of_ranks / hosts);
    e.strategy.kind = of_ranks == 1 ? StrategyKind::one_device : kind;
    e.strategy.algorithm = algorithm;
    e.strategy.segment_bytes = segment_bytes;
    e.training.optimizer.kind = optimizer;
    // A bias before a normalization has a gradient of 0, and of rounding: with its epsilon of 1e-8
    // Adam would make steps of that.
    e.training.optimizer.epsilon = 1e-4;
    e.training.clip_norm = clip_norm;
    return e;
  }
};

void PrintTo(const SynchronizedCase& c, std::ostream* out) {
  *out << c.ranks << " ranks on " << c.hosts << " hosts, " << base::name_of(c.algorithm) << ", "
       << base::name_of(c.kind) << ", " << base::name_of(c.optimizer)
       << (c.clip_norm > 0 ? ", clipped" : "") << (c.segment_bytes > 0 ? ", in segments" : "");
}

class Synchronized : public testing::TestWithParam<SynchronizedCase> {};

// The tail of 10 samples is of unlike shares, and of twelve ranks leaves two without any.
TEST_P(Synchronized, hundred_fp64_steps_equal_one_device) {
  const SynchronizedCase& c = GetParam();
  const auto one = trained_synchronized(c.training(1));
  expect_equal(trained_synchronized(c.training(c.ranks)), one[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Synchronized,
    testing::Values(
        SynchronizedCase{2},
        SynchronizedCase{3, Algorithm::ring, StrategyKind::ddp, OptimizerKind::adam},
        SynchronizedCase{4, Algorithm::direct, StrategyKind::mirrored, OptimizerKind::sgd, 0.5},
        SynchronizedCase{12, Algorithm::ring},
        SynchronizedCase{12, Algorithm::direct, StrategyKind::ddp},
        SynchronizedCase{4, Algorithm::all_to_all}, SynchronizedCase{3, Algorithm::star},
        SynchronizedCase{6, Algorithm::binary_tree, StrategyKind::mirrored, OptimizerKind::adamw},
        SynchronizedCase{6, Algorithm::double_binary_tree},
        SynchronizedCase{6, Algorithm::halving_doubling}, SynchronizedCase{6, Algorithm::torus},
        SynchronizedCase{4, Algorithm::automatic},
        SynchronizedCase{4, Algorithm::leader_hierarchical, StrategyKind::multi_worker_mirrored,
                         OptimizerKind::sgd, 0, 2},
        SynchronizedCase{6, Algorithm::sharded_hierarchical, StrategyKind::multi_worker_mirrored,
                         OptimizerKind::sgd, 0, 2},
        SynchronizedCase{4, Algorithm::ring, StrategyKind::mirrored, OptimizerKind::sgd, 0, 1,
                         64}));

TEST(SynchronizedImages, equal_one_device) {
  for (const int ranks : {2, 3, 4}) expect_images_equal_one_device(ranks, in_two_channels);
}

// Were it not asked for, ranks would not equal one device, and have running statistics of their
// own.
TEST(SynchronizedImages, differ_from_images_with_normalization_per_rank) {
  experiment::Experiment apart = normalized_images(3);
  apart.data.held_out_samples = 0;  // an evaluation uses the statistics of the chief on all ranks
  for (model::LayerSpec& layer : apart.model.layers) layer.synchronized = false;
  const auto together = trained_synchronized(normalized_images(3)),
             alone = trained_synchronized(apart);
  EXPECT_GT(distance(alone[0].parameters, together[0].parameters), 1e-6);
  EXPECT_NE(alone[0].state, alone[1].state);
  EXPECT_EQ(together[0].state, together[1].state);
}

TEST(SynchronizedImages, allocate_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(normalized_images(2), in_two_channels), testing::Each(0));
}

// Evaluation follows running statistics, on every rank those of all.
TEST(SynchronizedImages, evaluate_like_one_device) {
  const auto ranks = trained_synchronized(normalized_images(3)),
             one = trained_synchronized(normalized_images(1));
  EXPECT_NEAR(sum_of(ranks, telemetry::Metric::held_out_loss_sum, 99) /
                  sum_of(one, telemetry::Metric::held_out_loss_sum, 99),
              1, 1e-9);
  EXPECT_EQ(sum_of(ranks, telemetry::Metric::held_out_correct, 99),
            sum_of(one, telemetry::Metric::held_out_correct, 99));
}

// With shards of unequal size, small ones run out before the epoch ends: their ranks contribute
// nothing and end like the others.
TEST(SynchronizedShards, of_unequal_size_keep_all_ranks_equal) {
  experiment::Experiment e = normalized(3);
  e.data.sharding.kind = data::ShardingKind::size_skew;
  const auto ranks = trained_synchronized(e);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
    EXPECT_EQ(rank.state, ranks[0].state);
  }
  EXPECT_TRUE(std::isfinite(norm(ranks[0].parameters)));
}

// Compression applies to gradients and does not affect these sums.
TEST(SynchronizedCompression, keeps_all_ranks_equal) {
  experiment::Experiment e = normalized(3);
  e.training.precision = experiment::Precision::fp32;
  e.strategy.compression.kind = compute::compression::Scheme::power_sgd;
  const auto ranks = trained_synchronized(e);
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
    EXPECT_EQ(rank.state, ranks[0].state);
  }
}

// Micro-steps
// ------------------------------------------------------------

// One device, micro-step by micro-step, with the samples that the ranks have in theirs.
class Reordered : public data::Dataset {
 public:
  Reordered(std::shared_ptr<const data::Dataset> set, std::vector<std::int64_t> instead)
      : set_(std::move(set)), instead_(std::move(instead)) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    if (split == data::Split::held_out) return set_->fill(split, indices, features, labels);
    std::vector<std::int64_t> others;
    for (const std::int64_t index : indices)
      others.push_back(instead_[static_cast<std::size_t>(index)]);
    set_->fill(split, others, features, labels);
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
  std::vector<std::int64_t> instead_;  // by index
};

// The samples of one epoch as they come, micro-step after micro-step, rank after rank.
std::vector<std::int64_t> in_order(const experiment::Experiment& e) {
  const auto resolved = experiment::resolve(e, ".").value();
  data::Sampler sampler = experiment::sampler(resolved).value();
  const std::int64_t batch = e.training.batch_per_rank;
  std::vector<std::int64_t> list;
  for (std::int64_t step = 0; step < resolved.steps_per_epoch; ++step)
    for (std::int64_t first = 0; first < batch * e.training.accumulation_steps; first += batch)
      for (int rank = 0; rank < resolved.world(); ++rank) {
        const auto all = sampler.indices(step, rank);
        for (std::int64_t i = first; i < std::min(first + batch, std::ssize(all)); ++i)
          list.push_back(all[static_cast<std::size_t>(i)]);
      }
  return list;
}

experiment::Experiment normalized_in_micro_steps(int ranks, std::int64_t of_all) {
  experiment::Experiment e = normalized(ranks);
  e.training.batch_per_rank = of_all / ranks;
  e.training.accumulation_steps = 2;
  e.data.train_samples =
      50 * 2 * of_all + of_all / ranks * ranks +
      1;  // the tail: of rank 0 a whole micro-step and one sample, of the others one
  e.training.steps = 51;
  if (ranks == 1) e.strategy.kind = StrategyKind::one_device;
  return e;
}

class MicroSteps : public testing::TestWithParam<int> {};

TEST_P(MicroSteps, of_one_epoch_equal_one_device_with_all_samples) {
  const int ranks = GetParam();
  const experiment::Experiment many = normalized_in_micro_steps(ranks, 12),
                               alone = normalized_in_micro_steps(1, 12);
  const auto theirs = in_order(many), own = in_order(alone);
  ASSERT_EQ(theirs.size(), own.size());
  ASSERT_NE(theirs, own);
  std::vector<std::int64_t> instead(own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    instead[static_cast<std::size_t>(own[i])] = theirs[i];
  const auto one = train(experiment::resolve(alone, ".").value(), compute::reference::make, {},
                         [&](int, std::shared_ptr<const data::Dataset> set) {
                           return std::make_shared<const Reordered>(std::move(set), instead);
                         });
  const auto found = trained_synchronized(many);
  expect_equal(found, one[0]);
  for (const std::int32_t step : {0, 49, 50})  // the last is the tail
    for (const auto metric :
         {telemetry::Metric::loss_sum, telemetry::Metric::correct, telemetry::Metric::samples})
      EXPECT_NEAR(sum_of(found, metric, step), sum_of(one, metric, step), 1e-8)
          << base::name_of(metric) << " of step " << step;
}
INSTANTIATE_TEST_SUITE_P(Synchronized, MicroSteps, testing::Values(2, 3, 4));

// Also with an algorithm of one round, and a layer that sums forward only: the same small bucket
// again and again.
TEST(SynchronizedBytes, equal_the_formula) {
  for (const auto algorithm :
       {Algorithm::ring, Algorithm::all_to_all, Algorithm::double_binary_tree}) {
    experiment::Experiment e = normalized_in_micro_steps(3, 12);
    e.strategy.algorithm = algorithm;
    e.data.held_out_samples = 0;
    const auto expected = experiment::sent_bytes(experiment::resolve(e, ".").value()).value();
    const auto ranks = trained_synchronized(e);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::uint64_t sent = 0;
      for (const comm::Traffic& traffic : ranks[rank].traffic) sent += traffic.sent_payload_bytes;
      EXPECT_EQ(static_cast<std::int64_t>(sent), expected[rank]) << base::name_of(algorithm);
    }
  }
}

TEST(SynchronizedMicroSteps, of_a_single_first_layer_are_equal_with_every_algorithm) {
  experiment::Experiment e = normalized_in_micro_steps(3, 12);
  e.model.layers = {{.kind = LayerKind::batch_norm, .synchronized = true}, {LayerKind::linear, 0}};
  const auto expected = trained_synchronized(e);
  for (const auto algorithm : {Algorithm::all_to_all, Algorithm::direct, Algorithm::star}) {
    e.strategy.algorithm = algorithm;
    expect_equal(trained_synchronized(e), expected[0]);
  }
}

// Gradients
// ------------------------------------------------------------

// The mean loss of the first step, over all ranks, with one parameter changed.
double loss_of(const experiment::Experiment& e, std::int64_t parameter, double by) {
  const auto ranks = train(
      experiment::resolve(e, ".").value(), compute::reference::make, in_two_channels, {},
      [&](int, const compute::Tensor& parameters) { parameters.as<double>()[parameter] += by; });
  for (const RankOutcome& rank : ranks) EXPECT_EQ(rank.problem, base::Problem{});
  return sum_of(ranks, telemetry::Metric::loss_sum, 0) / 24;
}

// With two ranks: a change on one rank affects the normalized values, and thereby the loss, of the
// other.
TEST(SynchronizedGradients, equal_the_loss_gradient_over_all_ranks) {
  experiment::Experiment e = normalized(2);
  e.model.layers = {{LayerKind::linear, 5},
                    {.kind = LayerKind::batch_norm, .synchronized = true},
                    {LayerKind::tanh, 0},
                    {LayerKind::linear, 0}};
  e.training.steps = 1;
  e.data.held_out_samples = 0;
  const auto ranks = trained_synchronized(e);
  const double step = 1e-5;
  for (std::size_t i = 0; i < ranks[0].gradients.size(); ++i) {
    const auto parameter = static_cast<std::int64_t>(i);
    const double slope = (loss_of(e, parameter, step) - loss_of(e, parameter, -step)) / (2 * step);
    EXPECT_NEAR(ranks[0].gradients[i], slope, 1e-8) << "parameter " << i;
  }
}

}  // namespace
}  // namespace trainyard::tests
