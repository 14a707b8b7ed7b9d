// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/experiment/placement.h"
#include "tests/core/strategy/experiments.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {
namespace {

using ::testing::HasSubstr;

Experiment in(Precision precision, StrategyKind kind = StrategyKind::mirrored) {
  Experiment e = strategy::small(2);
  e.strategy.kind = kind;
  e.training.precision = precision;
  return e;
}

void expect_problem(const Experiment& e, const std::string& where, const std::string& id) {
  const base::Problems problems = validate(e, ".");
  ASSERT_THAT(problems, testing::ElementsAre(base::IsProblem(id, where)));
  EXPECT_FALSE(problems[0].advice.empty());
}

TEST(MixedPrecision, in_bf16_is_supported_by_every_strategy) {
  using enum StrategyKind;
  for (const StrategyKind kind : {mirrored, ddp, data_parallel, gossip, local_sgd, model_parallel,
                                  pipeline, fsdp, tensor_parallel})
    EXPECT_EQ(base::to_string(validate(in(Precision::bf16, kind), ".")), "");
  Experiment served = in(Precision::bf16, parameter_server);
  served.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  EXPECT_EQ(base::to_string(validate(served, ".")), "");
}

TEST(MixedPrecision, in_fp16_requires_the_global_gradient) {
  using enum StrategyKind;
  for (const StrategyKind kind :
       {mirrored, ddp, data_parallel, model_parallel, pipeline, fsdp, tensor_parallel})
    EXPECT_EQ(base::to_string(validate(in(Precision::fp16, kind), ".")), "");
  for (const StrategyKind kind : {gossip, local_sgd})
    expect_problem(in(Precision::fp16, kind), "training.precision", "precision_not_supported");
  Experiment served = in(Precision::fp16, parameter_server);
  served.topology.hosts[0].devices[1].role = topology::Role::parameter_server;
  expect_problem(served, "training.precision", "precision_not_supported");
  Experiment weights = in(Precision::fp16);
  weights.strategy.average = AveragedQuantity::weights;
  expect_problem(weights, "training.precision", "precision_not_supported");
  Experiment pipedream = in(Precision::fp16, pipeline);
  pipedream.strategy.stages.schedule = PipelineSchedule::pipedream;
  expect_problem(pipedream, "training.precision", "precision_not_supported");
}

TEST(MixedPrecision, in_fp16_refuses_compression_that_hides_infinite_gradients) {
  using compute::compression::Scheme;
  Experiment e = in(Precision::fp16);
  for (const Scheme kind : {Scheme::int8, Scheme::sign, Scheme::top_k, Scheme::power_sgd}) {
    e.strategy.compression.kind = kind;
    expect_problem(e, "training.precision", "precision_not_supported");
  }
  for (const Scheme kind : {Scheme::fp16, Scheme::bf16}) {
    e.strategy.compression.kind = kind;
    EXPECT_EQ(base::to_string(validate(e, ".")), "");
  }
  e.training.precision = Precision::bf16;
  e.strategy.compression.kind = Scheme::top_k;
  EXPECT_EQ(base::to_string(validate(e, ".")), "");
}

TEST(MixedPrecision, refuses_unsupported_settings) {
  Experiment factors = in(Precision::bf16);
  factors.training.multiplies = Multiplies::bfloat16;
  expect_problem(factors, "training.multiplies", "multiplies_with_mixed_precision");
  Experiment columns = in(Precision::bf16);
  columns.data.sharding.kind = data::ShardingKind::vertical;
  expect_problem(columns, "training.precision", "precision_not_supported");
  Experiment stops = in(Precision::fp16);
  stops.training.non_finite = NonFinite::stop;
  expect_problem(stops, "training.non_finite", "loss_scale_needs_skip");
  Experiment least = in(Precision::fp16);
  least.training.loss_scale = {16, 2000, 32};
  expect_problem(least, "training.loss_scale.least", "loss_scale_bounds");
}

TEST(MixedPrecision, in_fp16_resolves_to_skipping_non_finite_steps) {
  EXPECT_EQ(resolve(in(Precision::fp16), ".")->document.training.non_finite, NonFinite::skip);
  EXPECT_EQ(resolve(in(Precision::bf16), ".")->document.training.non_finite, NonFinite::go_on);
  EXPECT_TRUE(resolved_from_json(to_json(resolve(in(Precision::fp16), ".").value())));
}

TEST(MixedPrecision, has_a_caveat_if_outputs_are_summed_over_ranks) {
  EXPECT_EQ(equivalence_caveats(in(Precision::bf16)), std::nullopt);
  EXPECT_EQ(equivalence_caveats(in(Precision::fp32, StrategyKind::tensor_parallel)), std::nullopt);
  EXPECT_THAT(equivalence_caveats(in(Precision::fp16, StrategyKind::tensor_parallel)).value_or(""),
              HasSubstr("fp16"));
}

TEST(MixedPrecision, keeps_indices_of_rows_in_fp32) {
  Experiment clicks = strategy::small_clicks(2), gpt = strategy::small_gpt(2),
             rows = strategy::small_rows(2);
  for (Experiment* e : {&clicks, &gpt, &rows}) e->training.precision = Precision::fp16;
  EXPECT_EQ(input_dtype(resolve(clicks, ".").value()), base::DType::fp32);
  EXPECT_EQ(input_dtype(resolve(gpt, ".").value()), base::DType::fp32);
  EXPECT_EQ(input_dtype(resolve(rows, ".").value()), base::DType::fp16);
  EXPECT_EQ(activation_dtype(resolve(gpt, ".").value()), base::DType::fp16);
}

}  // namespace
}  // namespace trainyard::experiment
