// SPDX-License-Identifier: GPL-3.0-or-later
// Training with compressed gradients over real transports: ranks stay bit-identical, the bytes are
// those of the formulas, nothing that was left out is lost, and it learns nearly as well.
#include "core/experiment/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;
using collective::Collective;
using compute::compression::Scheme;
using telemetry::Metric;

struct CompressionCase {
  Scheme kind;
  int ranks;
  Algorithm algorithm;
  double clip = 0;
  bool error_feedback = true;
  experiment::StrategyKind strategy = experiment::StrategyKind::mirrored;
};

void PrintTo(const CompressionCase& c, std::ostream* out) {
  *out << base::name_of(c.kind) << ", " << c.ranks << " ranks, " << base::name_of(c.algorithm)
       << (c.clip > 0 ? ", clipped" : "") << (c.error_feedback ? "" : ", nothing kept");
}

experiment::Experiment compressed(const CompressionCase& c, std::int64_t steps) {
  experiment::Experiment e = small(c.ranks, 8 * c.ranks);
  e.training.precision = experiment::Precision::fp32;
  e.training.steps = steps;
  e.training.clip_norm = c.clip;
  e.strategy.kind = c.strategy;
  e.strategy.algorithm = c.algorithm;
  e.strategy.compression = {c.kind, 0.1, 2, c.error_feedback};
  return e;
}

std::uint64_t sent(const RankOutcome& rank) {
  std::uint64_t bytes = 0;
  for (const comm::Traffic& traffic : rank.traffic) bytes += traffic.sent_payload_bytes;
  return bytes;
}

class Compressed : public testing::TestWithParam<CompressionCase> {};

TEST_P(Compressed, ranks_are_bit_identical_and_send_the_bytes_of_the_formula) {
  const CompressionCase& c = GetParam();
  constexpr std::int64_t steps = 25;
  const experiment::Experiment e = compressed(c, steps);
  const auto resolved = experiment::resolve(e, ".").value();
  std::int64_t of_a_step = 0, gradient = 0, of_a_rank = 0;
  for (const experiment::Bucket& bucket : experiment::buckets(resolved)) {
    gradient += 4 * bucket.count;
    for (const auto& payload : experiment::payloads(resolved, bucket)) {
      const bool gathers = payload.collective == Collective::all_gather;
      const std::int64_t times = gathers ? 1 : c.algorithm == Algorithm::all_to_all ? c.ranks : 2;
      of_a_step += times * (c.ranks - 1) * payload.bytes();
      of_a_rank += payload.bytes() / (gathers ? c.ranks : 1);
    }
  }
  const std::int64_t at_start =
      c.strategy == experiment::StrategyKind::ddp ? (c.ranks - 1) * 4 * resolved.model.elements : 0;
  ASSERT_EQ(base::to_string(check::check(strategy::make_plan(resolved).value())), "");

  const auto ranks = trained(e);
  std::uint64_t all = 0;
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
    EXPECT_TRUE(std::isfinite(norm(rank.parameters)));
    EXPECT_THAT(values_of_metric(rank, Metric::compression_ratio),
                testing::AllOf(
                    testing::SizeIs(steps),
                    testing::Each(static_cast<double>(gradient) / static_cast<double>(of_a_rank))));
    EXPECT_THAT(values_of_metric(rank, Metric::residual_norm),
                testing::AllOf(testing::SizeIs(steps), testing::Each(testing::Gt(0))));
    all += sent(rank);
  }
  EXPECT_EQ(all, static_cast<std::uint64_t>(steps * of_a_step + at_start));
}

INSTANTIATE_TEST_SUITE_P(
    Schemes, Compressed,
    testing::Values(
        CompressionCase{Scheme::fp16, 2, Algorithm::ring},
        CompressionCase{Scheme::fp16, 5, Algorithm::all_to_all},
        CompressionCase{Scheme::fp16, 4, Algorithm::halving_doubling, 0.5},
        CompressionCase{Scheme::fp16, 3, Algorithm::double_binary_tree},
        CompressionCase{Scheme::bf16, 3, Algorithm::direct},
        CompressionCase{Scheme::bf16, 5, Algorithm::binary_tree},
        CompressionCase{Scheme::bf16, 4, Algorithm::star, 0, true, experiment::StrategyKind::ddp},
        CompressionCase{Scheme::int8, 2, Algorithm::ring},
        CompressionCase{Scheme::int8, 5, Algorithm::direct, 0.5},
        CompressionCase{Scheme::int8, 3, Algorithm::automatic, 0, false},
        CompressionCase{Scheme::sign, 3, Algorithm::ring},
        CompressionCase{Scheme::sign, 4, Algorithm::direct, 0, true, experiment::StrategyKind::ddp},
        CompressionCase{Scheme::top_k, 2, Algorithm::direct},
        CompressionCase{Scheme::top_k, 5, Algorithm::ring, 0.5},
        CompressionCase{Scheme::top_k, 4, Algorithm::ring, 0, false},
        CompressionCase{Scheme::random_k, 2, Algorithm::ring},
        CompressionCase{Scheme::random_k, 5, Algorithm::torus},
        CompressionCase{Scheme::random_k, 3, Algorithm::leader_hierarchical, 0, false},
        CompressionCase{Scheme::power_sgd, 2, Algorithm::ring},
        CompressionCase{Scheme::power_sgd, 3, Algorithm::direct, 0.5},
        CompressionCase{Scheme::power_sgd, 4, Algorithm::halving_doubling, 0, false},
        CompressionCase{Scheme::power_sgd, 5, Algorithm::all_to_all}));

const Scheme kSchemes[] = {Scheme::fp16,  Scheme::bf16,     Scheme::int8,     Scheme::sign,
                           Scheme::top_k, Scheme::random_k, Scheme::power_sgd};

TEST(Compression, allocates_nothing_in_later_steps) {
  for (const Scheme kind : kSchemes)
    EXPECT_THAT(allocated_by_more_steps(compressed({kind, 2, Algorithm::direct}, 0), in_process),
                testing::Each(0))
        << base::name_of(kind);
}

// Drawn digits, as on the examples, through a small model.
experiment::Experiment digits(int ranks, Scheme kind) {
  experiment::Experiment e = small(ranks, 64);
  e.data.kind = data::DataKind::digits;
  e.data.train_samples = 1536;
  e.data.held_out_samples = 512;
  e.model.layers = {
      {model::LayerKind::linear, 32}, {model::LayerKind::relu, 0}, {model::LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 20'000;
  e.training.precision = experiment::Precision::fp32;
  e.training.steps = 240;
  e.training.optimizer.learning_rate = 0.05;
  e.run.evaluate_every_steps = 240;
  e.strategy.compression = {kind, 0.1, 4, true};
  // A randomly selected number waits for 1 / fraction steps on average and is then sent with its
  // residual; momentum would overshoot.
  if (kind == Scheme::random_k)
    e.training.optimizer.momentum = 0, e.training.optimizer.learning_rate = 0.1;
  return e;
}

double held_out_accuracy(const std::vector<RankOutcome>& ranks) {
  double correct = 0, samples = 0;
  for (const RankOutcome& rank : ranks) {
    correct += values_of_metric(rank, Metric::held_out_correct).back();
    samples += values_of_metric(rank, Metric::held_out_samples).back();
  }
  return correct / samples;
}

TEST(Compression, trains_digits_nearly_as_well_as_without) {
  const double whole = held_out_accuracy(trained(digits(2, Scheme::none)));
  RecordProperty("none", std::to_string(whole));
  EXPECT_GE(whole, 0.85);
  for (const Scheme kind : kSchemes) {
    const auto ranks = trained(digits(2, kind));
    ASSERT_EQ(ranks[0].problem, base::Problem{}) << base::name_of(kind);
    const double accuracy = held_out_accuracy(ranks);
    RecordProperty(std::string(base::name_of(kind)), std::to_string(accuracy));
    EXPECT_GE(accuracy, whole - 0.06) << base::name_of(kind);
  }
}

// One step without momentum moves the parameters by the decoded gradient; with all of it sent, that
// is the gradient itself.
TEST(Compression, that_sends_everything_equals_no_compression) {
  const auto one_step = [](Scheme kind) {
    experiment::Experiment e = compressed({kind, 3, Algorithm::direct}, 1);
    e.strategy.compression.fraction = 1;
    return trained(e);
  };
  const auto whole = one_step(Scheme::none);
  for (const Scheme kind : {Scheme::top_k, Scheme::random_k}) {
    const auto ranks = one_step(kind);
    EXPECT_EQ(ranks[0].parameters, whole[0].parameters) << base::name_of(kind);
    EXPECT_THAT(values_of_metric(ranks[0], Metric::residual_norm), testing::ElementsAre(0))
        << base::name_of(kind);
  }
}

// A value that is not finite on one rank makes all ranks not finite, whatever part of it is sent.
class Poisoned final : public data::Dataset {
 public:
  explicit Poisoned(std::shared_ptr<const data::Dataset> of) : of_(std::move(of)) {}
  const data::DataSummary& summary() const override { return of_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    of_->fill(split, indices, features, labels);
    features.front() = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  std::shared_ptr<const data::Dataset> of_;
};

TEST(Compression, propagates_nan_to_all_ranks) {
  for (const Scheme kind : kSchemes) {
    const auto ranks = train(
        experiment::resolve(compressed({kind, 3, Algorithm::ring}, 2), ".").value(),
        compute::reference::make, in_process,
        [](int rank,
           std::shared_ptr<const data::Dataset> whole) -> std::shared_ptr<const data::Dataset> {
          if (rank != 1) return whole;
          return std::make_shared<Poisoned>(whole);
        });
    for (const RankOutcome& rank : ranks) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_FALSE(std::isfinite(norm(rank.parameters))) << base::name_of(kind);
    }
  }
}

}  // namespace
}  // namespace trainyard::tests
