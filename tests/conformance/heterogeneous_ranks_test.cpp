// SPDX-License-Identifier: GPL-3.0-or-later
// Strategies whose ranks do not all do the same: what they end with, and every byte that they send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "tests/conformance/trained_in_process.h"

namespace trainyard::tests {
namespace {

using experiment::StrategyKind;

struct UnlikeCase {
  StrategyKind kind;
  int computing;    // devices
  int storage = 0;  // of central_storage: its rank
  experiment::OptimizerKind optimizer = experiment::OptimizerKind::sgd;
  double clip = 0;
  std::int64_t segment_bytes = 0;
  bool images = false;

  int ranks() const { return computing + (kind == StrategyKind::central_storage ? 1 : 0); }

  experiment::Experiment alone() const {
    experiment::Experiment e = small(1, 24);
    if (images) {
      e = strategy::small_images(1);
      e.training.batch_per_rank = 24;
      e.training.steps = 100;
      e.training.precision = experiment::Precision::fp64;
      e.training.optimizer.learning_rate = 0.01;
      e.strategy.bucket_bytes = 600;
    }
    e.strategy.kind = StrategyKind::one_device;
    e.training.optimizer.kind = optimizer;
    e.training.clip_norm = clip;
    return e;
  }
  experiment::Experiment training() const {
    experiment::Experiment e = alone();
    e.strategy.kind = kind;
    e.strategy.segment_bytes = segment_bytes;
    e.training.batch_per_rank = 24 / computing;
    e.topology = kind == StrategyKind::central_storage ? drawn_storage(computing, storage)
                                                       : drawn_hosts(1, computing);
    return e;
  }
};

void PrintTo(const UnlikeCase& c, std::ostream* out) {
  *out << base::name_of(c.kind) << ", " << c.computing << " devices, storage " << c.storage << ", "
       << base::name_of(c.optimizer) << (c.clip > 0 ? ", clipped" : "")
       << (c.segment_bytes > 0 ? ", in segments" : "") << (c.images ? ", images" : "");
}

class HeterogeneousRanks : public testing::TestWithParam<UnlikeCase> {};

constexpr auto kCentral = StrategyKind::central_storage, kParallel = StrategyKind::data_parallel;
using O = experiment::OptimizerKind;

INSTANTIATE_TEST_SUITE_P(
    Strategies, HeterogeneousRanks,
    testing::Values(UnlikeCase{kCentral, 1}, UnlikeCase{kCentral, 2, 1, O::adam},
                    UnlikeCase{kCentral, 3, 3, O::sgd, 0.5},
                    UnlikeCase{kCentral, 4, 0, O::sgd, 0, 100}, UnlikeCase{kCentral, 12, 5},
                    UnlikeCase{kCentral, 3, 1, O::sgd, 0, 0, true}, UnlikeCase{kParallel, 2},
                    UnlikeCase{kParallel, 3, 0, O::adam, 0.5},
                    UnlikeCase{kParallel, 4, 0, O::sgd, 0, 100},
                    UnlikeCase{kParallel, 2, 0, O::sgd, 0, 64}, UnlikeCase{kParallel, 12},
                    UnlikeCase{kParallel, 3, 0, O::sgd, 0, 0, true}));

// The first thing that is wrong.
std::string flaw_of(const plan::Plan& plan) {
  const base::Problems problems = check::check(plan);
  return problems.empty() ? "" : base::to_string(problems.front());
}

TEST_P(HeterogeneousRanks, have_a_proved_plan) {
  const auto plan =
      strategy::make_plan(experiment::resolve(GetParam().training(), ".").value()).value();
  EXPECT_EQ(flaw_of(plan), "");
}

TEST_P(HeterogeneousRanks, have_a_proved_coarse_plan) {
  const auto plan =
      strategy::coarse_plan(experiment::resolve(GetParam().training(), ".").value()).value();
  EXPECT_EQ(flaw_of(plan), "");
}

// 24 samples a step leave a tail of 10 in an epoch of 250: fewer than the devices in some cases.
// Devices begin with nothing: what they train on was sent to them.
TEST_P(HeterogeneousRanks, hundred_fp64_steps_equal_one_device) {
  const UnlikeCase& c = GetParam();
  const auto one = trained(c.alone()), ranks = trained(c.training());
  ASSERT_EQ(one[0].problem, base::Problem{});
  for (int rank = 0; rank < c.ranks(); ++rank) {
    const RankOutcome& outcome = ranks[static_cast<std::size_t>(rank)];
    ASSERT_EQ(outcome.problem, base::Problem{});
    if (!experiment::keeps_parameters(c.training(), rank)) continue;
    EXPECT_LE(distance(outcome.parameters, one[0].parameters), 1e-10) << rank;
    EXPECT_EQ(outcome.parameters, ranks[0].parameters) << rank;  // bit-identical
  }
}

// Gradients are summed at the storage, on device 0.
TEST_P(HeterogeneousRanks, one_fp32_step_has_the_gradients_of_one_device) {
  const UnlikeCase& c = GetParam();
  experiment::Experiment alone = one_step(c.alone()), many = one_step(c.training());
  for (auto* e : {&alone, &many}) e->training.precision = experiment::Precision::fp32;
  const auto one = trained(alone), ranks = trained(many);
  const RankOutcome& adding = ranks[static_cast<std::size_t>(c.kind == kCentral ? c.storage : 0)];
  ASSERT_EQ(adding.problem, base::Problem{});
  EXPECT_GT(norm(one[0].gradients), 0);
  EXPECT_LE(distance(adding.gradients, one[0].gradients), 1e-5);
}

TEST_P(HeterogeneousRanks, have_the_loss_of_one_device) {
  const UnlikeCase& c = GetParam();
  const auto sum = [](const std::vector<RankOutcome>& ranks, telemetry::Metric metric) {
    double all = 0;
    for (const RankOutcome& rank : ranks)
      for (const telemetry::Event& event : rank.events)
        if (event.kind == telemetry::EventKind::metric &&
            event.subject == static_cast<std::uint16_t>(metric))
          all += event.value;
    return all;
  };
  const auto one = trained(c.alone()), ranks = trained(c.training());
  for (const auto metric : {telemetry::Metric::loss_sum, telemetry::Metric::held_out_loss_sum})
    EXPECT_NEAR(sum(ranks, metric) / sum(one, metric), 1, 1e-9) << base::name_of(metric);
  for (const auto metric : {telemetry::Metric::samples, telemetry::Metric::held_out_samples,
                            telemetry::Metric::held_out_correct})
    EXPECT_EQ(sum(ranks, metric), sum(one, metric)) << base::name_of(metric);
}

// Payload of a whole run from the counters of the transport, at both ends of every pair.
std::map<std::pair<int, int>, std::int64_t> sent_bytes(const std::vector<RankOutcome>& ranks) {
  std::map<std::pair<int, int>, std::int64_t> sent;
  const int n = static_cast<int>(ranks.size());
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      const auto& out = ranks[static_cast<std::size_t>(from)].traffic[static_cast<std::size_t>(to)];
      const auto& in = ranks[static_cast<std::size_t>(to)].traffic[static_cast<std::size_t>(from)];
      EXPECT_EQ(out.sent_payload_bytes, in.received_payload_bytes) << from << " to " << to;
      if (out.sent_payload_bytes > 0)
        sent[{from, to}] = static_cast<std::int64_t>(out.sent_payload_bytes);
    }
  return sent;
}

// S to the storage and S back, for each device and step; S to each before the first.
TEST_P(HeterogeneousRanks, send_the_bytes_of_the_formula) {
  const UnlikeCase& c = GetParam();
  experiment::Experiment e = c.training();
  e.training.steps = 13;  // an epoch has 11, the last one short
  const auto r = experiment::resolve(e, ".").value();
  const std::int64_t s = r.model.elements * 8, steps = 13;
  std::map<std::pair<int, int>, std::int64_t> expected;
  for (int rank = 0; rank < c.ranks(); ++rank) {
    if (c.kind == kCentral && rank != c.storage) {
      expected[{rank, c.storage}] = steps * s;
      expected[{c.storage, rank}] = steps * s + s;
    }
    if (c.kind != kCentral && rank > 0) {
      std::int64_t rows = 0;
      for (std::int64_t step = 0; step < steps; ++step) rows += r.shares().samples(step, rank);
      expected[{0, rank}] = steps * s + rows * 8 * (r.model.features + r.model.classes) +
                            (r.model.drops() ? rows * 4 : 0);
      expected[{rank, 0}] = steps * s + rows * 8 * r.model.classes;
    }
  }
  EXPECT_EQ(sent_bytes(trained(e)), expected);
}

TEST_P(HeterogeneousRanks, report_only_the_norms_that_they_compute) {
  const UnlikeCase& c = GetParam();
  experiment::Experiment e = c.training();
  e.training.steps = 12;
  const auto ranks = trained(e);
  const int updates = c.kind == kCentral ? c.storage : 0;
  for (int rank = 0; rank < c.ranks(); ++rank) {
    const auto says = [&](telemetry::Metric metric) {
      const auto& events = ranks[static_cast<std::size_t>(rank)].events;
      return std::any_of(events.begin(), events.end(), [&](const telemetry::Event& event) {
        return event.kind == telemetry::EventKind::metric &&
               event.subject == static_cast<std::uint16_t>(metric) && event.value > 0;
      });
    };
    EXPECT_EQ(says(telemetry::Metric::reduced_gradient_norm), rank == updates) << rank;
    EXPECT_EQ(says(telemetry::Metric::update_ratio), rank == updates) << rank;
    EXPECT_EQ(says(telemetry::Metric::local_gradient_norm),
              c.kind == kParallel || rank != c.storage)
        << rank;
  }
}

// Only who loads is given the data set to read.
class Counted : public data::Dataset {
 public:
  Counted(std::shared_ptr<const data::Dataset> set, std::atomic<int>& reads)
      : set_(std::move(set)), reads_(reads) {}
  const data::DataSummary& summary() const override { return set_->summary(); }
  void fill(data::Split split, std::span<const std::int64_t> indices, std::span<float> features,
            std::span<std::int32_t> labels) const override {
    ++reads_;
    set_->fill(split, indices, features, labels);
  }

 private:
  std::shared_ptr<const data::Dataset> set_;
  std::atomic<int>& reads_;
};

TEST_P(HeterogeneousRanks, read_data_only_on_ranks_that_load_it) {
  const UnlikeCase& c = GetParam();
  experiment::Experiment e = c.training();
  e.training.steps = 3;
  std::vector<std::atomic<int>> reads(static_cast<std::size_t>(c.ranks()));
  const auto counted = [&](int rank, std::shared_ptr<const data::Dataset> set) {
    return std::make_shared<const Counted>(std::move(set), reads[static_cast<std::size_t>(rank)]);
  };
  train(experiment::resolve(e, ".").value(), compute::reference::make, in_process, counted);
  for (int rank = 0; rank < c.ranks(); ++rank) {
    const bool loads = c.kind == kCentral ? rank != c.storage : rank == 0;
    EXPECT_EQ(reads[static_cast<std::size_t>(rank)] > 0, loads) << rank;
  }
}

}  // namespace
}  // namespace trainyard::tests
