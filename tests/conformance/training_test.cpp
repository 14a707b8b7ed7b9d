// SPDX-License-Identifier: GPL-3.0-or-later
// The promise of every synchronous strategy: n ranks equal one device on the same global batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "tests/conformance/count_allocations.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::tests {
namespace {

using collective::Algorithm;

struct TrainingCase {
  int ranks;
  Algorithm algorithm;
  experiment::OptimizerKind optimizer;
  double clip;
  int hosts = 1;
  std::int64_t segment_bytes = 0;
  std::optional<experiment::StrategyKind> kind = {};

  experiment::Experiment training() const {
    experiment::Experiment e = small(ranks, 24);
    e.topology = drawn_hosts(hosts, ranks / hosts);
    if (hosts > 1) e.strategy.kind = experiment::StrategyKind::multi_worker_mirrored;
    if (kind) e.strategy.kind = *kind;
    e.strategy.algorithm = algorithm;
    e.strategy.segment_bytes = segment_bytes;
    return e;
  }
};

void PrintTo(const TrainingCase& c, std::ostream* out) {
  *out << c.ranks << " ranks, " << base::name_of(c.algorithm) << ", " << base::name_of(c.optimizer)
       << (c.clip > 0 ? ", clipped" : "") << ", " << c.hosts << " hosts"
       << (c.segment_bytes > 0 ? ", in segments" : "")
       << (c.kind ? ", " + std::string(base::name_of(*c.kind)) : "");
}

class Equality : public testing::TestWithParam<TrainingCase> {};

// 24 samples a step leave a tail of 10 in an epoch of 250: fewer than the ranks in some cases.
TEST_P(Equality, hundred_fp64_steps_equal_one_device) {
  const TrainingCase& c = GetParam();
  experiment::Experiment alone = small(1, 24);
  alone.training.optimizer.kind = c.optimizer;
  alone.training.clip_norm = c.clip;
  alone.strategy.kind = experiment::StrategyKind::one_device;
  experiment::Experiment many = c.training();
  many.training.optimizer.kind = c.optimizer;
  many.training.clip_norm = c.clip;

  const auto one = trained(alone);
  const auto ranks = trained(many);
  ASSERT_EQ(one[0].problem, base::Problem{});
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.parameters, one[0].parameters), 1e-10);
    EXPECT_EQ(rank.parameters, ranks[0].parameters);  // bit-identical
  }
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, Equality,
    testing::Values(
        TrainingCase{2, Algorithm::ring, experiment::OptimizerKind::sgd, 0},
        TrainingCase{3, Algorithm::ring, experiment::OptimizerKind::adam, 0},
        TrainingCase{4, Algorithm::ring, experiment::OptimizerKind::sgd, 0.5},
        TrainingCase{8, Algorithm::ring, experiment::OptimizerKind::adamw, 0},
        TrainingCase{2, Algorithm::direct, experiment::OptimizerKind::adam, 0.5},
        TrainingCase{3, Algorithm::direct, experiment::OptimizerKind::sgd, 0},
        TrainingCase{4, Algorithm::direct, experiment::OptimizerKind::adamw, 0},
        TrainingCase{12, Algorithm::direct, experiment::OptimizerKind::sgd, 0},
        TrainingCase{6, Algorithm::halving_doubling, experiment::OptimizerKind::sgd, 0.5},
        TrainingCase{8, Algorithm::halving_doubling, experiment::OptimizerKind::sgd, 0},
        TrainingCase{6, Algorithm::binary_tree, experiment::OptimizerKind::adam, 0},
        TrainingCase{6, Algorithm::double_binary_tree, experiment::OptimizerKind::sgd, 0},
        TrainingCase{3, Algorithm::double_binary_tree, experiment::OptimizerKind::sgd, 0},
        TrainingCase{4, Algorithm::star, experiment::OptimizerKind::sgd, 0},
        TrainingCase{4, Algorithm::all_to_all, experiment::OptimizerKind::adamw, 0.5},
        TrainingCase{6, Algorithm::torus, experiment::OptimizerKind::sgd, 0},
        TrainingCase{4, Algorithm::leader_hierarchical, experiment::OptimizerKind::sgd, 0, 2},
        TrainingCase{6, Algorithm::leader_hierarchical, experiment::OptimizerKind::sgd, 0, 3},
        TrainingCase{4, Algorithm::sharded_hierarchical, experiment::OptimizerKind::sgd, 0, 2},
        TrainingCase{6, Algorithm::sharded_hierarchical, experiment::OptimizerKind::adam, 0, 2},
        TrainingCase{8, Algorithm::torus, experiment::OptimizerKind::sgd, 0, 2},
        TrainingCase{4, Algorithm::automatic, experiment::OptimizerKind::sgd, 0, 2},
        TrainingCase{4, Algorithm::ring, experiment::OptimizerKind::sgd, 0, 1, 100},
        TrainingCase{6, Algorithm::binary_tree, experiment::OptimizerKind::sgd, 0, 1, 64},
        TrainingCase{8, Algorithm::all_to_all, experiment::OptimizerKind::sgd, 0, 1, 200},
        // Ranks but the first begin with nothing: what they train on was broadcast.
        TrainingCase{4, Algorithm::ring, experiment::OptimizerKind::sgd, 0.5, 1, 0,
                     experiment::StrategyKind::ddp},
        TrainingCase{6, Algorithm::direct, experiment::OptimizerKind::adam, 0, 1, 300,
                     experiment::StrategyKind::ddp},
        TrainingCase{12, Algorithm::binary_tree, experiment::OptimizerKind::sgd, 0, 1, 0,
                     experiment::StrategyKind::ddp}));

TEST_P(Equality, one_fp32_step_has_the_gradients_of_one_device) {
  experiment::Experiment alone = small(1, 24), many = GetParam().training();
  for (auto* e : {&alone, &many}) e->training.precision = experiment::Precision::fp32;
  alone.strategy.kind = experiment::StrategyKind::one_device;
  expect_gradients_of(trained(one_step(alone))[0], trained(one_step(many)));
}

TEST_P(Equality, allocates_nothing_in_later_steps) {
  const experiment::Experiment e = GetParam().training();
  EXPECT_THAT(allocated_by_more_steps(e, in_process), testing::Each(0));
}

// Compares an experiment on several numbers of ranks with one device.
void expect_one_device(experiment::Experiment (*of)(int ranks)) {
  const auto one = trained(images(of(1), 1));
  ASSERT_EQ(one[0].problem, base::Problem{});
  for (const int n : {2, 3, 4}) {
    const auto ranks = trained(images(of(n), n));
    for (const RankOutcome& rank : ranks) {
      ASSERT_EQ(rank.problem, base::Problem{});
      EXPECT_LE(distance(rank.parameters, one[0].parameters), 1e-10) << n;
      EXPECT_EQ(rank.parameters, ranks[0].parameters);
    }
  }
}

// Convolutions, a residual sum, pooling, and dropout of the same elements on any rank.
TEST(Training, hundred_fp64_steps_of_images_equal_one_device) {
  expect_one_device(strategy::small_images);
}

TEST(Training, one_fp32_step_of_images_has_the_gradients_of_one_device) {
  const auto in_fp32 = [](int n) {
    experiment::Experiment e = one_step(images(strategy::small_images(n), n));
    e.training.precision = experiment::Precision::fp32;
    return trained(e);
  };
  for (const int n : {2, 3, 4}) expect_gradients_of(in_fp32(1)[0], in_fp32(n));
}

// Row normalization, GELU and a residual sum, as in transformers.
TEST(Training, hundred_fp64_steps_of_normalized_rows_equal_one_device) {
  expect_one_device(strategy::small_rows);
}

TEST(Training, normalized_rows_allocate_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(images(strategy::small_rows(2), 2), in_process),
              testing::Each(0));
}

// Embeddings, attention and the labels of every character.
TEST(Training, hundred_fp64_steps_of_a_transformer_equal_one_device) {
  expect_one_device(strategy::small_gpt);
}

// Rank 0 scatters the characters of a batch and their labels.
TEST(Training, hundred_fp64_steps_of_a_transformer_with_data_parallel_equal_one_device) {
  experiment::Experiment e = images(strategy::small_gpt(3), 3);
  e.strategy.kind = experiment::StrategyKind::data_parallel;
  const auto one = trained(images(strategy::small_gpt(1), 1)), ranks = trained(e);
  for (const RankOutcome& rank : ranks) ASSERT_EQ(rank.problem, base::Problem{});
  EXPECT_LE(distance(ranks[0].parameters, one[0].parameters), 1e-10);
}

// Two segments learn one table.
TEST(Training, hundred_fp64_steps_of_a_tied_transformer_equal_one_device) {
  expect_one_device(strategy::small_tied_gpt);
}

TEST(Training, tied_transformer_with_accumulation_equals_one_without) {
  experiment::Experiment whole = images(strategy::small_tied_gpt(1), 1), parts = whole;
  whole.training.batch_per_rank = 12;
  parts.training.batch_per_rank = 4, parts.training.accumulation_steps = 3;
  const auto one = trained(whole), other = trained(parts);
  ASSERT_EQ(one[0].problem, base::Problem{});
  ASSERT_EQ(other[0].problem, base::Problem{});
  EXPECT_LE(distance(other[0].parameters, one[0].parameters), 1e-10);
}

TEST(Training, one_fp32_step_of_a_transformer_has_the_gradients_of_one_device) {
  const auto in_fp32 = [](int n) {
    experiment::Experiment e = one_step(images(strategy::small_gpt(n), n));
    e.training.precision = experiment::Precision::fp32;
    return trained(e);
  };
  for (const int n : {2, 3, 4}) expect_gradients_of(in_fp32(1)[0], in_fp32(n));
}

TEST(Training, transformer_allocates_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(images(strategy::small_gpt(2), 2), in_process),
              testing::Each(0));
}

// Each rank normalizes by its own samples: near one device, but not equal to it; still all ranks
// have the same weights.
TEST(Training, batch_normalization_without_synchronization_keeps_ranks_identical) {
  const auto one = trained(images(strategy::small_normalized_images(1), 1)),
             ranks = trained(images(strategy::small_normalized_images(3), 3));
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
  const double apart = distance(ranks[0].parameters, one[0].parameters);
  EXPECT_GT(apart, 1e-6);
  EXPECT_LT(apart, 0.5);
}

TEST(Training, images_allocate_nothing_in_later_steps) {
  EXPECT_THAT(allocated_by_more_steps(images(strategy::small_normalized_images(2), 2), in_process),
              testing::Each(0));
}

struct Drawn {
  int hosts, devices;
};

// Payload of three steps from the counters of the transport, between every two ranks; the plan's is
// that of the formulas (tests/core/collective/bytes_test.cpp).
class WireBytes : public testing::TestWithParam<Algorithm> {
 protected:
  static void expect_bytes_of_the_plan(const Drawn& drawn) {
    const int n = drawn.hosts * drawn.devices;
    experiment::Experiment e =
        TrainingCase{n, GetParam(), experiment::OptimizerKind::sgd, 0, drawn.hosts}.training();
    e.training.batch_per_rank = 24 / n + 1;
    e.training.steps = 3;
    e.data.held_out_samples = 0;
    e.strategy.bucket_bytes = 1e9;  // one bucket: S = the whole gradient
    const auto ranks = trained(e);
    const auto train =
        check::examine(strategy::make_plan(experiment::resolve(e, ".").value()).value())
            .traffic.at(0);
    std::map<std::pair<int, int>, std::int64_t> planned;
    for (const check::Sent& sent : train.sent) planned[{sent.from, sent.to}] = sent.bytes;
    for (int from = 0; from < n && n > 1;
         ++from)  // a rank alone has no transport, so nothing to count
      for (int to = 0; to < n; ++to) {
        ASSERT_EQ(ranks[static_cast<std::size_t>(from)].problem, base::Problem{});
        const comm::Traffic& out =
            ranks[static_cast<std::size_t>(from)].traffic[static_cast<std::size_t>(to)];
        const comm::Traffic& in =
            ranks[static_cast<std::size_t>(to)].traffic[static_cast<std::size_t>(from)];
        EXPECT_EQ(static_cast<std::int64_t>(out.sent_payload_bytes), 3 * (planned[{from, to}]))
            << n << " ranks, " << from << " to " << to;
        EXPECT_EQ(out.sent_payload_bytes, in.received_payload_bytes);
      }
  }
};
INSTANTIATE_TEST_SUITE_P(All, WireBytes, testing::ValuesIn(collective::kAlgorithms),
                         [](const auto& row) { return std::string(base::name_of(row.param)); });

TEST_P(WireBytes, equal_the_plan_at_both_ends) {
  for (int n = 1; n <= 9; ++n) expect_bytes_of_the_plan({1, n});
}

TEST_P(WireBytes, equal_the_plan_over_hosts) {
  for (const Drawn& drawn : {Drawn{2, 2}, {2, 3}, {3, 2}, {4, 2}}) expect_bytes_of_the_plan(drawn);
}

// Reads from a disk that is slow.
class SlowData : public data::Dataset {
 public:
  explicit SlowData(std::shared_ptr<const data::Dataset> set) : set_(std::move(set)) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    if (split == data::Split::train) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    set_->fill(split, indices, features, labels);
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
};

double seconds_of(const RankOutcome& rank, telemetry::Metric metric) {
  double seconds = 0;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(metric))
      seconds += event.value;
  return seconds;
}

TEST(Training, waiting_for_data_and_for_a_peer_are_distinguished) {
  using telemetry::Metric;
  experiment::Experiment e = small(2, 24);
  e.training.steps = 10;
  const auto ranks =
      train(experiment::resolve(e, ".").value(), compute::reference::make, in_process,
            [](int rank, std::shared_ptr<const data::Dataset> set) {
              return rank == 0 ? std::make_shared<const SlowData>(std::move(set)) : set;
            });
  for (const RankOutcome& rank : ranks) ASSERT_EQ(rank.problem, base::Problem{});
  for (const Metric other :
       {Metric::compute_seconds, Metric::transfer_seconds, Metric::wait_seconds})
    EXPECT_GT(seconds_of(ranks[0], Metric::input_seconds), seconds_of(ranks[0], other))
        << base::name_of(other);
  for (const Metric other :
       {Metric::compute_seconds, Metric::transfer_seconds, Metric::input_seconds})
    EXPECT_GT(seconds_of(ranks[1], Metric::wait_seconds), seconds_of(ranks[1], other))
        << base::name_of(other);
}

// Data set without samples until it is signaled.
class LateData : public data::Dataset {
 public:
  LateData(std::shared_ptr<const data::Dataset> set, std::shared_future<void> opened)
      : set_(std::move(set)), opened_(std::move(opened)) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    opened_.wait();
    set_->fill(split, indices, features, labels);
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
  std::shared_future<void> opened_;
};

TEST(Training, rank_that_waits_for_samples_is_in_its_load_op) {
  experiment::Experiment e = small(1, 24);
  e.strategy.kind = experiment::StrategyKind::one_device;
  const auto resolved = experiment::resolve(e, ".").value();
  const plan::Plan made = strategy::make_plan(resolved).value();
  const plan::RankPlan program_of_rank = made.rank_plan(0);
  const auto device = compute::reference::make();
  std::promise<void> go;
  const auto late = [opened = go.get_future().share()](int,
                                                       std::shared_ptr<const data::Dataset> set) {
    return std::make_shared<const LateData>(std::move(set), opened);
  };
  run::RankProgress at;
  auto outcome = std::async(std::launch::async, [&] {
    return train_rank(resolved, made, 0, *device, nullptr, Telemetry::on, late, &at);
  });
  const auto kind = [&]() -> std::optional<plan::OpKind> {
    const auto [program, op] = at.op.load();
    if (program < 0 || op < 0) return std::nullopt;
    return program_of_rank.programs[static_cast<std::size_t>(program)]
        .ops[static_cast<std::size_t>(op)]
        .kind;
  };
  for (int i = 0; i < 3000 && kind() != plan::OpKind::load; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(kind(), plan::OpKind::load);
  go.set_value();
  EXPECT_EQ(outcome.get().problem, base::Problem{});
}

}  // namespace
}  // namespace trainyard::tests
