// SPDX-License-Identifier: GPL-3.0-or-later
// Real training by ranks that have their own feature columns: n ranks equal one device, and none
// loads a column of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/inproc/transport.h"
#include "core/data/columns.h"
#include "core/experiment/fields.h"
#include "tests/conformance/vertical_training.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using experiment::OptimizerKind;
using experiment::StrategyKind;
using model::LayerKind;

// No more of them than are needed.
std::vector<std::unique_ptr<comm::Transport>> in_three_channels(int ranks,
                                                                std::size_t arena_bytes) {
  return inproc::make(ranks, arena_bytes, {3}).value();
}
std::vector<RankOutcome> trained_vertically(const experiment::Experiment& e) {
  return trained_by(e, in_three_channels);
}

struct VerticalCase {
  int ranks;
  Algorithm algorithm = Algorithm::ring;
  StrategyKind kind = StrategyKind::mirrored;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double clip_norm = 0;
  int hosts = 1;

  experiment::Experiment training(int of_ranks) const {
    experiment::Experiment e = vertical(of_ranks);
    e.topology = drawn_hosts(of_ranks == 1 ? 1 : hosts, of_ranks == 1 ? 1 : of_ranks / hosts);
    e.data.features = 12;
    if (of_ranks > 1) e.strategy.kind = kind;
    e.strategy.algorithm = algorithm;
    e.training.optimizer.kind = optimizer;
    e.training.optimizer.epsilon = 1e-4;
    e.training.clip_norm = clip_norm;
    return e;
  }
};

void PrintTo(const VerticalCase& c, std::ostream* out) {
  *out << c.ranks << " ranks on " << c.hosts << " hosts, " << base::name_of(c.algorithm) << ", "
       << base::name_of(c.kind) << ", " << base::name_of(c.optimizer)
       << (c.clip_norm > 0 ? ", clipped" : "");
}

class Vertical : public testing::TestWithParam<VerticalCase> {};

TEST_P(Vertical, hundred_fp64_steps_equal_one_device) {
  const VerticalCase& c = GetParam();
  const auto many = trained_vertically(c.training(c.ranks));
  expect_equal_parameters(many, trained_vertically(c.training(1))[0]);
  EXPECT_EQ(sent_by(many),
            experiment::sent_bytes(experiment::resolve(c.training(c.ranks), ".").value()).value());
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Vertical,
    testing::Values(
        VerticalCase{2}, VerticalCase{3, Algorithm::direct, StrategyKind::ddp, OptimizerKind::adam},
        VerticalCase{4, Algorithm::ring, StrategyKind::mirrored, OptimizerKind::sgd, 0.5},
        VerticalCase{12, Algorithm::ring}, VerticalCase{12, Algorithm::direct, StrategyKind::ddp},
        VerticalCase{3, Algorithm::star}, VerticalCase{4, Algorithm::all_to_all},
        VerticalCase{6, Algorithm::halving_doubling, StrategyKind::mirrored, OptimizerKind::adamw},
        VerticalCase{4, Algorithm::automatic}, VerticalCase{6, Algorithm::double_binary_tree},
        VerticalCase{4, Algorithm::leader_hierarchical, StrategyKind::multi_worker_mirrored,
                     OptimizerKind::sgd, 0, 2},
        VerticalCase{6, Algorithm::sharded_hierarchical, StrategyKind::multi_worker_mirrored,
                     OptimizerKind::sgd, 0, 2}));

// 7 columns do not divide; fp32 and bytes are asked for too.
TEST(VerticalColumns, of_two_to_four_ranks_equal_one_device) {
  for (const int ranks : {2, 3, 4}) expect_columns_equal_one_device(ranks, in_three_channels);
}

// Models without an activation after the first layer, with only the first layer, and with all
// layers that may follow it.
TEST(VerticalColumns, of_any_model_with_a_linear_first_layer_equal_one_device) {
  const model::LayerSpec normal{.kind = LayerKind::batch_norm, .synchronized = true},
      sum{.kind = LayerKind::add, .back = 2},
      dropout{.kind = LayerKind::dropout, .probability = 0.3};
  const std::vector<std::vector<model::LayerSpec>> models = {
      {{LayerKind::linear, 0}},
      {{LayerKind::linear, 9}, {LayerKind::linear, 0}},
      {{LayerKind::flatten, 0},
       {LayerKind::linear, 9},
       {LayerKind::tanh, 0},
       dropout,
       {LayerKind::linear, 9},
       sum,
       {LayerKind::relu, 0},
       {LayerKind::linear, 0}},
      {{LayerKind::linear, 9}, normal, {LayerKind::relu, 0}, {LayerKind::linear, 0}}};
  for (std::size_t m = 0; m < models.size(); ++m) {
    SCOPED_TRACE(m);
    for (const int ranks : {3, 12}) {
      experiment::Experiment many = vertical(ranks), alone = vertical(1);
      many.model.layers = alone.model.layers = models[m];
      many.data.features = alone.data.features = 13;
      if (m == 2) many.data.kind = alone.data.kind = data::DataKind::digits;  // images: 28 x 28
      if (m == 2)
        many.training.optimizer.learning_rate = alone.training.optimizer.learning_rate = 0.01;
      expect_equal_parameters(trained_vertically(many), trained_vertically(alone)[0]);
    }
  }
}

// Rank 0 has a full micro-step and one sample in the last step of an epoch, the others have one; or
// some ranks have none in the second micro-step.
TEST(VerticalMicroSteps, equal_one_device) {
  for (const int ranks : {2, 3, 4}) {
    experiment::Experiment many = vertical(ranks), alone = vertical(1);
    many.training.batch_per_rank = 12 / ranks;
    many.training.accumulation_steps = 2;
    many.data.train_samples = alone.data.train_samples = 9 * 24 + 12 + 1;
    const auto found = trained_vertically(many);
    expect_equal_parameters(found, trained_vertically(alone)[0]);
    EXPECT_EQ(sent_by(found),
              experiment::sent_bytes(experiment::resolve(many, ".").value()).value());
  }
}

// Rows of every rank's share of 53 held-out samples, in rounds of 6 each: 14, 13, 13 and 13.
TEST(VerticalColumns, evaluate_like_one_device) {
  const auto ranks = trained_vertically(vertical(4)), one = trained_vertically(vertical(1));
  for (const auto metric : {telemetry::Metric::held_out_loss_sum, telemetry::Metric::loss_sum})
    EXPECT_NEAR(sum_of(ranks, metric, 99) / sum_of(one, metric, 99), 1, 1e-9)
        << base::name_of(metric);
  for (const auto metric :
       {telemetry::Metric::held_out_correct, telemetry::Metric::held_out_samples,
        telemetry::Metric::samples, telemetry::Metric::correct})
    EXPECT_EQ(sum_of(ranks, metric, 99), sum_of(one, metric, 99)) << base::name_of(metric);
}

// NaN in the place of every column but those of a rank.
class OnlyColumns : public data::Dataset {
 public:
  OnlyColumns(std::shared_ptr<const data::Dataset> set,
              std::pair<std::int64_t, std::int64_t> columns)
      : set_(std::move(set)), columns_(columns) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    set_->fill(split, indices, features, labels);
    const std::int64_t width = set_->summary().features();
    for (std::int64_t i = 0; i < std::ssize(features); ++i)
      if (i % width < columns_.first || i % width >= columns_.first + columns_.second)
        features[static_cast<std::size_t>(i)] = std::nanf("");
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
  std::pair<std::int64_t, std::int64_t> columns_;
};

TEST(VerticalColumns, of_other_ranks_are_never_read) {
  const auto resolved = experiment::resolve(vertical(3), ".").value();
  const auto ranks = train(resolved, compute::reference::make, in_three_channels,
                           [](int rank, std::shared_ptr<const data::Dataset> set) {
                             return std::make_shared<const OnlyColumns>(
                                 std::move(set), data::columns_of(7, 3, rank));
                           });
  expect_equal_parameters(ranks, trained_vertically(vertical(1))[0]);
}

// Each rank compresses its own gradient; for the first layer, that of its columns.
TEST(VerticalCompression, keeps_all_ranks_equal) {
  for (const auto kind :
       {compute::compression::Scheme::int8, compute::compression::Scheme::power_sgd}) {
    experiment::Experiment e = vertical(3);
    e.training.precision = experiment::Precision::fp32;
    e.strategy.compression.kind = kind;
    const auto ranks = trained_vertically(e);
    for (const RankOutcome& rank : ranks) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_EQ(rank.parameters, ranks[0].parameters);
      EXPECT_TRUE(std::isfinite(norm(rank.parameters)));
    }
    EXPECT_EQ(sent_by(ranks), experiment::sent_bytes(experiment::resolve(e, ".").value()).value());
  }
}

TEST(VerticalColumns, allocate_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(vertical(2), in_three_channels), testing::Each(0));
}

}  // namespace
}  // namespace trainyard::tests
