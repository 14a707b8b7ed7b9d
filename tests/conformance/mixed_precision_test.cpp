// SPDX-License-Identifier: GPL-3.0-or-later
// Real training in mixed precision: ranks together equal one device that rounds as they do, learn
// as well as in fp32, and find a scale for the loss by which fp16 loses nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/sent_bytes.h"
#include "core/experiment/stages.h"
#include "core/run/bind/loss_scale.h"
#include "core/run/bind/memory_use.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/problem_matchers.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::PipelineSchedule;
using experiment::Precision;
using experiment::Shard;
using experiment::StrategyKind;
using telemetry::Metric;
using testing::HasSubstr;

// 24 samples a step, whatever the ranks; an epoch ends with 10.
Experiment training(Experiment e, StrategyKind kind, Precision precision, int ranks) {
  e.strategy.kind = kind;
  e.training.batch_per_rank = experiment::splits_model(kind) ? 24 : 24 / ranks;
  e.training.precision = precision;
  e.training.steps = 24;
  e.training.optimizer.learning_rate = 0.05;
  return e;
}

Experiment by_one_device(Experiment e) {
  e.topology = drawn_hosts(1, 1);
  e.strategy = {};
  e.strategy.kind = StrategyKind::one_device;
  e.training.batch_per_rank = 24;
  e.training.accumulation_steps = 1;
  return e;
}

struct MixedCase {
  const char* name;
  Experiment experiment;
  bool sums_outputs = false;  // in 16 bits, over ranks
  double bound = 5e-3;        // after some steps
};
void PrintTo(const MixedCase& c, std::ostream* out) { *out << c.name; }

Experiment in_shards(Experiment e, Shard shard) {
  e.strategy.fsdp.shard = shard;
  e.strategy.bucket_bytes = 150;
  return e;
}

Experiment in_stages(Experiment e, PipelineSchedule schedule) {
  e.strategy.stages.schedule = schedule;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 6;
  return e;
}

Experiment with_storage(Experiment e) {
  e.topology = drawn_storage(3, 1);
  return e;
}

std::vector<MixedCase> cases(Precision p) {
  using enum StrategyKind;
  using namespace strategy;
  return {{"mirrored", training(small_rows(3), mirrored, p, 3)},
          {"mirrored_gpt", training(small_gpt(2), mirrored, p, 2)},
          {"mirrored_tied_micro", in_micro_steps(training(small_tied_gpt(2), mirrored, p, 2), 3)},
          {"mirrored_clicks", training(small_wide_and_deep(2), mirrored, p, 2)},
          {"multi_worker_mirrored",
           [&] {
             Experiment e = training(strategy::small(4), multi_worker_mirrored, p, 4);
             e.topology = drawn_hosts(2, 2);
             return e;
           }()},
          {"ddp_normalized", training(synchronized(small_normalized_images(2)), ddp, p, 2), false,
           3e-2},
          {"central_storage", with_storage(training(strategy::small(3), central_storage, p, 3))},
          {"data_parallel", training(small_rows(3), data_parallel, p, 3)},
          {"fsdp_full", in_shards(training(small_gpt(3), fsdp, p, 3), Shard::full)},
          {"fsdp_full_micro",
           in_micro_steps(in_shards(training(strategy::small(3), fsdp, p, 3), Shard::full), 2)},
          {"fsdp_gradients", in_shards(training(small_tied_gpt(2), fsdp, p, 2), Shard::gradients)},
          {"fsdp_optimizer", in_shards(training(small_rows(2), fsdp, p, 2), Shard::optimizer)},
          {"model_parallel",
           in_stages(training(small_rows(3), model_parallel, p, 3), PipelineSchedule::naive)},
          {"gpipe", in_stages(training(small_gpt(2), pipeline, p, 2), PipelineSchedule::gpipe)},
          {"zb_h1", in_stages(training(small_rows(3), pipeline, p, 3), PipelineSchedule::zb_h1)},
          {"tensor_parallel", training(strategy::small(3), tensor_parallel, p, 3), true, 2e-2},
          {"tensor_parallel_gpt", training(small_tied_gpt(2), tensor_parallel, p, 2), true, 2e-2}};
}

// Combines the model from the ranks, taking each element from a rank that has it.
std::vector<double> gathered_elements(const Experiment& e, const std::vector<RankOutcome>& ranks,
                                      std::vector<double> RankOutcome::*part) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  std::vector<double> whole(static_cast<std::size_t>(all.model.elements));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<double>& own = ranks[r].*part;
    if (own.size() == whole.size()) return own;
    for (const model::Parameter& p :
         experiment::of_rank(all, static_cast<int>(r)).model.parameters) {
      const auto at =
          std::find_if(all.model.parameters.begin(), all.model.parameters.end(),
                       [&](const model::Parameter& other) { return other.name == p.name; });
      for (std::int64_t i = 0; i < p.shape.elements(); ++i)
        whole[static_cast<std::size_t>(at->offset + p.index_in_full(i))] =
            own[static_cast<std::size_t>(p.offset + i)];
    }
  }
  return whole;
}

// With fsdp, shards of units are adjacent.
std::vector<double> whole_of(const Experiment& e, const std::vector<RankOutcome>& ranks,
                             std::vector<double> RankOutcome::*part) {
  if (e.strategy.kind != StrategyKind::fsdp) return gathered_elements(e, ranks, part);
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  std::vector<double> whole(static_cast<std::size_t>(all.model.elements));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<double>& own = ranks[r].*part;
    std::int64_t at = 0;
    for (const experiment::ElementRange& of :
         experiment::shards_of_rank(all, static_cast<int>(r))) {
      std::copy_n(own.begin() + (own.size() == whole.size() ? of.first : at), of.count,
                  whole.begin() + of.first);
      at += of.count;
    }
  }
  return whole;
}

class MixedTraining : public testing::TestWithParam<MixedCase> {};

// A row is rounded by itself, so it is the same wherever it passes: gradients differ by the order
// of their fp32 sums alone. Where outputs are summed over ranks, each sum is rounded besides: by
// 2^-9 of what it is, of which a few lie between a gradient and the loss.
TEST_P(MixedTraining, has_the_gradients_of_one_device_with_equal_rounding) {
  const Experiment e = one_step(GetParam().experiment);
  const auto ranks = trained(e), one = trained(by_one_device(e));
  for (const RankOutcome& rank : ranks) ASSERT_EQ(rank.problem, base::Problem{});
  if (e.strategy.kind == StrategyKind::central_storage)
    return;  // whose gradients are parts of a sum
  const double bound = GetParam().sums_outputs ? 8 * 0x1p-9 : 1e-5;
  EXPECT_LE(distance(whole_of(e, ranks, &RankOutcome::gradients), one[0].gradients), bound);
}

// A sum that differs in its last bits makes, once in a while, a weight that is cast to the other of
// two neighbors, 2^-8 away; of images, another maximum.
TEST_P(MixedTraining, continues_like_one_device_with_equal_rounding) {
  const Experiment& e = GetParam().experiment;
  const auto ranks = trained(e), one = trained(by_one_device(e));
  Experiment full = by_one_device(e);
  full.training.precision = Precision::fp32;
  const auto in_fp32 = trained(full);
  for (const RankOutcome& rank : ranks) ASSERT_EQ(rank.problem, base::Problem{});
  const auto whole = whole_of(e, ranks, &RankOutcome::parameters);
  EXPECT_LE(distance(whole, one[0].parameters), GetParam().bound);
  EXPECT_GT(distance(one[0].parameters, in_fp32[0].parameters), 1e-5) << "it does round";
  EXPECT_LE(distance(one[0].parameters, in_fp32[0].parameters), 0.2);
  for (const RankOutcome& rank : ranks)
    if (rank.parameters.size() == whole.size() && e.strategy.kind != StrategyKind::data_parallel &&
        e.strategy.kind != StrategyKind::central_storage) {
      EXPECT_EQ(rank.parameters, ranks[0].parameters);
    }
}

TEST_P(MixedTraining, is_proved) {
  const auto plan = strategy::make_plan(experiment::resolve(GetParam().experiment, ".").value());
  ASSERT_TRUE(plan);
  const check::Report report = check::examine(*plan);
  EXPECT_EQ(report.findings.empty() ? "" : base::to_string(report.findings.front().problem), "");
  EXPECT_THAT(report.proofs, testing::Contains(check::Proof::casting));
}

INSTANTIATE_TEST_SUITE_P(bf16, MixedTraining, testing::ValuesIn(cases(Precision::bf16)),
                         [](const auto& one) { return one.param.name; });
INSTANTIATE_TEST_SUITE_P(fp16, MixedTraining, testing::ValuesIn(cases(Precision::fp16)),
                         [](const auto& one) { return one.param.name; });

// The loss scale
// ------------------------------------------------------------

Experiment scaled(Experiment e, double initial, std::int64_t double_every, double least = 1) {
  e.training.precision = Precision::fp16;
  e.training.loss_scale = {initial, double_every, least};
  return e;
}

TEST(LossScale, follows_the_rule_of_torch) {
  const run::LossScaling rule{1024, 3, 1};
  run::LossScale scale{1024, 0};
  const auto step = [&](bool finite) { return scale = run::after_step(scale, finite, rule); };
  EXPECT_EQ(step(true), (run::LossScale{1024, 1}));
  EXPECT_EQ(step(true), (run::LossScale{1024, 2}));
  EXPECT_EQ(step(true), (run::LossScale{2048, 0})) << "three in a row";
  EXPECT_EQ(step(true), (run::LossScale{2048, 1}));
  EXPECT_EQ(step(false), (run::LossScale{1024, 0})) << "the count restarts";
  EXPECT_EQ(step(false), (run::LossScale{512, 0}));
}

// Checks every step: the metrics show whether a weight changed, which determines the next loss
// scale.
void expect_rule(const RankOutcome& rank, const run::LossScaling& rule) {
  const auto scales = values_of_metric(rank, Metric::loss_scale),
             skipped = values_of_metric(rank, Metric::skipped_updates);
  run::LossScale expected{rule.initial, 0};
  std::size_t skips = 0;
  for (std::size_t step = 0; step < scales.size(); ++step) {
    ASSERT_EQ(scales[step], expected.scale) << "step " << step;
    const std::size_t unskipped =
        scales.size() - skipped.size();  // steps before the first that was skipped tell of none
    const bool finite = step < unskipped || skipped[step - unskipped] == static_cast<double>(skips);
    skips += finite ? 0 : 1;
    expected = run::after_step(expected, finite, rule);
  }
}

TEST(LossScale, that_is_too_large_is_halved_without_changing_weights) {
  for (const auto& [kind, ranks] : {std::pair{StrategyKind::mirrored, 3},
                                    {StrategyKind::fsdp, 2},
                                    {StrategyKind::tensor_parallel, 2}}) {
    const Experiment e =
        scaled(training(strategy::small_rows(ranks), kind, Precision::fp16, ranks), 0x1p30, 8);
    const auto of_ranks = trained(e);
    for (const RankOutcome& rank : of_ranks) {
      ASSERT_EQ(rank.problem, base::Problem{});
      const auto scales = values_of_metric(rank, Metric::loss_scale);
      ASSERT_EQ(scales.size(), 24u);
      EXPECT_LT(scales.back(), 0x1p28) << "where fp16 has infinities";
      EXPECT_GT(scales.back(), 0x1p8);
      EXPECT_GT(values_of_metric(rank, Metric::skipped_updates).back(), 8)
          << "2^30 of a gradient of 1 / 24 does not fit, nor do half and quarter of it";
      expect_rule(rank, {0x1p30, 8, 1});
      EXPECT_EQ(scales, values_of_metric(of_ranks[0], Metric::loss_scale)) << "the same everywhere";
      EXPECT_TRUE(std::all_of(rank.parameters.begin(), rank.parameters.end(),
                              [](double value) { return std::isfinite(value); }));
    }
  }
}

// Steps that are skipped count as steps, but change nothing: neither weights nor moments.
TEST(LossScale, of_skipped_steps_leaves_weights_unchanged) {
  Experiment e = scaled(training(strategy::small(2), StrategyKind::mirrored, Precision::fp16, 2),
                        0x1p39, 1000);
  e.training.optimizer = {.kind = experiment::OptimizerKind::adamw, .learning_rate = 0.1};
  e.training.steps = 5;
  Experiment none = e;
  none.training.steps = 1;
  EXPECT_EQ(trained(e)[0].parameters, trained(none)[0].parameters);
  EXPECT_EQ(values_of_metric(trained(e)[1], Metric::skipped_updates),
            (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(LossScale, below_the_minimum_ends_the_run_at_its_step) {
  const Experiment e =
      scaled(training(strategy::small(2), StrategyKind::mirrored, Precision::fp16, 2), 0x1p39, 1000,
             0x1p36);
  for (const RankOutcome& rank : trained(e)) {
    EXPECT_THAT(
        rank.problem,
        testing::AllOf(base::IsProblem("loss_scale_underflow",
                                       testing::MatchesRegex("rank [01], step 3, op SCALE")),
                       base::Reports("training.loss_scale.least"), base::Advises("bf16")));
  }
}

// Twenty-four layers, each of which makes the gradient smaller.
Experiment deep(double scale) {
  Experiment e = strategy::small(1);
  e.model.layers.clear();
  for (int layer = 0; layer < 24; ++layer)
    e.model.layers.insert(e.model.layers.end(),
                          {{model::LayerKind::linear, 4}, {model::LayerKind::tanh, 0}});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  return one_step(scaled(training(e, StrategyKind::one_device, Precision::fp16, 1), scale, 1000));
}

TEST(LossScale, preserves_small_gradients) {
  Experiment full = deep(1);
  full.training.precision = Precision::fp32;
  const experiment::Resolved resolved = experiment::resolve(full, ".").value();
  const auto of_first = [&](const Experiment& e, double scale) {
    std::vector<double> all = trained(e)[0].gradients;
    all.resize(static_cast<std::size_t>(resolved.model.segments.front().elements));
    for (double& gradient : all) gradient /= scale;
    return all;
  };
  const auto expected = of_first(full, 1);
  ASSERT_GT(norm(expected), 0);
  ASSERT_LT(norm(expected), 1e-7);
  EXPECT_EQ(norm(of_first(deep(1), 1)), 0) << "below the least number of fp16";
  EXPECT_LE(distance(of_first(deep(0x1p19), 0x1p19), expected), 0.05);
}

TEST(LossScale, is_not_in_the_recorded_norms) {
  Experiment full = training(strategy::small(2), StrategyKind::mirrored, Precision::fp32, 2);
  full.training.steps = 1;
  const Experiment half = scaled(full, 1024, 1000);
  for (const Metric of : {Metric::local_gradient_norm, Metric::reduced_gradient_norm}) {
    const auto expected = values_of_metric(trained(full)[0], of),
               found = values_of_metric(trained(half)[0], of);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t s = 0; s < found.size(); ++s)
      EXPECT_NEAR(found[s], expected[s], 0.02 * expected[s]);
  }
  EXPECT_TRUE(values_of_metric(trained(full)[0], Metric::loss_scale).empty());
}

// Clipping judges the true norm.
TEST(LossScale, is_not_in_the_clipped_norm) {
  Experiment full = training(strategy::small(2), StrategyKind::mirrored, Precision::fp32, 2);
  full.training.clip_norm = 0.01;
  full.training.steps = 20;
  Experiment half = scaled(full, 4096, 1000);
  const auto in_fp32 = trained(full), in_fp16 = trained(half);
  ASSERT_EQ(in_fp16[0].problem, base::Problem{});
  EXPECT_LE(distance(in_fp16[0].parameters, in_fp32[0].parameters), 1e-3);
}

// Traffic and memory
// ------------------

TEST(MixedBytes, of_activations_between_ranks_are_half_and_of_gradients_full) {
  const auto sent = [](const Experiment& e) {
    std::uint64_t sum = 0;
    for (const RankOutcome& rank : trained(one_step(e)))
      for (const comm::Traffic& to : rank.traffic) sum += to.sent_payload_bytes;
    return sum;
  };
  const auto both = [&](Experiment e, StrategyKind kind, int ranks) {
    e = in_stages(training(e, kind, Precision::fp32, ranks), PipelineSchedule::gpipe);
    const std::uint64_t full = sent(e);
    e.training.precision = Precision::bf16;
    return std::pair{full, sent(e)};
  };
  const auto [stages_full, stages_half] = both(strategy::small_rows(3), StrategyKind::pipeline, 3);
  EXPECT_EQ(stages_full, 2 * stages_half);
  Experiment mirrored = training(strategy::small(3), StrategyKind::mirrored, Precision::fp32, 3);
  const std::uint64_t full = sent(mirrored);
  mirrored.training.precision = Precision::bf16;
  EXPECT_EQ(sent(mirrored), full);
}

TEST(MixedBytes, of_sharded_layers_equal_the_formula) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    Experiment e =
        training(strategy::small_tied_gpt(2), StrategyKind::tensor_parallel, precision, 2);
    e.training.steps = 22;
    e.run.evaluate_every_steps = 11;
    const auto wanted = experiment::sent_bytes(experiment::resolve(e, ".").value());
    ASSERT_TRUE(wanted);
    const auto ranks = trained(e);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::int64_t sent = 0;
      for (const comm::Traffic& to : ranks[r].traffic)
        sent += static_cast<std::int64_t>(to.sent_payload_bytes);
      EXPECT_EQ(sent, (*wanted)[r]) << "rank " << r;
    }
  }
}

TEST(MixedMemory, of_activations_is_half) {
  const auto activations = [](Precision precision) {
    Experiment e = training(strategy::small_rows(2), StrategyKind::mirrored, precision, 2);
    e.training.batch_per_rank = 64;  // whole pages of alignment would blur it
    const plan::RankPlan plan =
        strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(0);
    return static_cast<double>(
        run::memory_use(plan, run::layout(plan)).of(run::MemoryPurpose::activations));
  };
  EXPECT_NEAR(activations(Precision::bf16) / activations(Precision::fp32), 0.5, 0.07)
      << "labels are as they were";
}

}  // namespace
}  // namespace trainyard::tests
