// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of ranks' buffers by purpose: according to the plan, and as measured while they train.
#include <gmock/gmock.h>

#include "core/base/units.h"
#include "core/experiment/document.h"
#include "core/experiment/fields.h"
#include "tests/conformance/served_case.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::tests {
namespace {

using experiment::Experiment;
using experiment::OptimizerKind;
using experiment::StrategyKind;

experiment::Experiment with_adam(experiment::StrategyKind kind) {
  experiment::Experiment e = strategy::small_gpt(3);
  e.strategy.kind = kind;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  return e;
}

plan::RankPlan plan_of(const experiment::Experiment& e) {
  return strategy::make_plan(strategy::resolved(e)).value().rank_plan(0);
}

TEST(MemoryUse, equals_the_arenas_and_has_little_padding) {
  using enum experiment::StrategyKind;
  for (const auto kind : {mirrored, ddp, fsdp, pipeline, gossip, local_sgd}) {
    const plan::RankPlan plan = plan_of(with_adam(kind));
    const run::Layout laid = run::layout(plan);
    const run::MemoryUse use = run::memory_use(plan, laid);
    EXPECT_EQ(use.total(), laid.device_bytes());
    EXPECT_GE(use.padding, 0);
    EXPECT_LE(use.padding, run::kAlignment * std::ssize(plan.buffers));
  }
}

TEST(MemoryUse, of_a_replica_is_one_model_each_for_parameters_and_gradients_and_two_for_moments) {
  const experiment::Experiment e = with_adam(experiment::StrategyKind::ddp);
  const std::int64_t model = 4 * strategy::resolved(e).model.elements;
  const plan::RankPlan plan = plan_of(e);
  const run::MemoryUse use = run::memory_use(plan, run::layout(plan));
  EXPECT_EQ(use.of(run::MemoryPurpose::parameters), model);
  EXPECT_EQ(use.of(run::MemoryPurpose::gradients), model);
  EXPECT_EQ(use.of(run::MemoryPurpose::moments), 2 * model);
  EXPECT_GT(use.of(run::MemoryPurpose::activations), 0);
}

// For a GPT, whose attention stores no scores: activations per character do not depend on the
// context, also with recomputation.
TEST(MemoryUse, of_attention_is_linear_in_the_context) {
  const auto activations = [](std::int64_t context, std::int64_t recompute) {
    experiment::Experiment e = with_adam(experiment::StrategyKind::ddp);
    e.data.context = context;
    e.data.train_samples = 24, e.data.held_out_samples = 3;
    e.training.batch_per_rank = 2;
    e.training.recompute_segments = recompute;
    const plan::RankPlan plan = plan_of(e);
    return static_cast<double>(
        run::memory_use(plan, run::layout(plan)).of(run::MemoryPurpose::activations));
  };
  for (const std::int64_t recompute : {0, 2}) {
    const double by_character = activations(64, recompute) / 64;
    EXPECT_GT(by_character, 0);
    for (const std::int64_t context : {128, 256, 512, 1024})
      EXPECT_NEAR(activations(context, recompute) / static_cast<double>(context), by_character,
                  0.03 * by_character)
          << context << ", recompute " << recompute;
  }
}

// The example's notes state this. With large units, parameters and gradients take more than in ddp,
// because a unit is gathered as a whole.
TEST(MemoryUse, of_the_fsdp_example_is_less_than_of_ddp_in_all_three_parts) {
  const auto use = [](const std::string& setting) {
    const Experiment e = experiment::load(TRAINYARD_SOURCE_DIR
                                          "/resources/experiments/"
                                          "four_devices_fsdp_gpt_grammar.json",
                                          {setting})
                             .value();
    const plan::RankPlan plan = plan_of(e);
    return run::memory_use(plan, run::layout(plan));
  };
  const auto share = [ddp = use("strategy.kind=ddp")](const run::MemoryUse& of,
                                                      run::MemoryPurpose part) {
    return static_cast<double>(of.of(part)) / static_cast<double>(ddp.of(part));
  };
  using enum run::MemoryPurpose;
  const run::MemoryUse example = use("strategy.kind=fsdp"),
                       large = use("strategy.bucket_bytes=100000");
  EXPECT_NEAR(share(example, moments), 0.25, 0.01);
  for (const run::MemoryPurpose part : {parameters, gradients}) {
    EXPECT_LT(share(example, part), 0.55);
    EXPECT_GT(share(large, part), 1);
  }
}

// Compares, for every rank and part, the memory that the system reports with the buffers of the
// plan.
void expect_memory_as_planned(const Experiment& e) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  const plan::Plan plan = strategy::make_plan(all).value();
  const auto ranks = trained(e);
  for (std::int32_t r = 0; r < plan.ranks; ++r) {
    ASSERT_EQ(ranks[static_cast<std::size_t>(r)].problem, base::Problem{});
    const plan::RankPlan one = plan.rank_plan(r);
    const run::MemoryUse use = run::memory_use(one, run::layout(one));
    for (std::size_t part = 0; part < run::kMemoryParts; ++part) {
      double measured = 0;
      for (const telemetry::Event& event : ranks[static_cast<std::size_t>(r)].events)
        if (event.kind == telemetry::EventKind::metric &&
            event.subject == static_cast<std::uint16_t>(telemetry::Metric::buffer_bytes) &&
            event.index == part)
          measured = event.value;
      EXPECT_NEAR(measured, static_cast<double>(use.bytes[part]),
                  0.05 * static_cast<double>(use.bytes[part]))
          << "rank " << r << ", part " << part;
    }
  }
}

// Layers of several pages each.
Experiment large(Experiment e) {
  e.model.layers = {{model::LayerKind::linear, 900},
                    {model::LayerKind::linear, 300},
                    {model::LayerKind::linear, 0}};
  e.training.steps = 3;
  e.training.optimizer.kind = OptimizerKind::adam;
  return e;
}

TEST(BuffersInMemory, equal_the_plan) {
  Experiment e = large(small(4, 24));
  for (const StrategyKind kind : {StrategyKind::mirrored, StrategyKind::ddp, StrategyKind::fsdp,
                                  StrategyKind::tensor_parallel, StrategyKind::hybrid,
                                  StrategyKind::pipeline, StrategyKind::model_parallel}) {
    SCOPED_TRACE(base::name_of(kind));
    e.strategy.kind = kind;
    if (kind == StrategyKind::pipeline) e.topology = drawn_hosts(1, 3);
    expect_memory_as_planned(e);
  }
}

TEST(BuffersInMemory, of_servers_equal_the_plan_with_its_versions) {
  for (const auto mode : {experiment::ServerMode::synchronous, experiment::ServerMode::asynchronous,
                          experiment::ServerMode::stale_synchronous}) {
    SCOPED_TRACE(base::name_of(mode));
    Experiment e = large(ServedCase{mode, 2, 2}.training());
    e.training.steps = 8;  // so that every place for a version is taken
    expect_memory_as_planned(e);
  }
}

TEST(BuffersInMemory, of_trainers_and_rpc_servers_equal_the_plan) {
  for (const auto output : {experiment::RemoteOutput::value, experiment::RemoteOutput::reference}) {
    SCOPED_TRACE(base::name_of(output));
    expect_memory_as_planned(
        large(strategy::called(small(2, 24), 2, 1, experiment::RemoteLayers::all, output)));
  }
}

TEST(BuffersInMemory, with_recomputation_equal_the_plan) {
  Experiment e = large(small(2, 24));
  e.model.layers.insert(e.model.layers.begin(), 6, {model::LayerKind::linear, 300});
  e.strategy.kind = StrategyKind::ddp;
  e.training.recompute_segments = 3;
  expect_memory_as_planned(e);
}

TEST(BuffersInMemory, in_mixed_precision_equal_the_plan) {
  for (const auto precision : {experiment::Precision::bf16, experiment::Precision::fp16}) {
    SCOPED_TRACE(base::name_of(precision));
    Experiment e = large(small(2, 24));
    e.strategy.kind = StrategyKind::ddp;
    e.training.precision = precision;
    expect_memory_as_planned(e);
  }
}

TEST(BuffersInMemory, are_distinguished_by_offload_target) {
  Experiment e = small(2, 24);
  e.model.layers.assign(9, {model::LayerKind::linear, 300});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.training.steps = 3;
  e.training.optimizer.kind = OptimizerKind::adam;
  e.training.swap.activations = experiment::OffloadTarget::disk;
  e.training.swap.optimizer = experiment::OffloadTarget::host;
  expect_memory_as_planned(e);
  const plan::RankPlan one =
      strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(0);
  const run::MemoryUse use = run::memory_use(one, run::layout(one));
  EXPECT_GT(use.of(run::MemoryPurpose::disk), 0);
  EXPECT_GT(use.of(run::MemoryPurpose::host), 0);
  EXPECT_THAT(run::describe(use),
              testing::AllOf(testing::HasSubstr(base::format_bytes(
                                 static_cast<double>(use.of(run::MemoryPurpose::host)))),
                             testing::HasSubstr(base::format_bytes(
                                 static_cast<double>(use.of(run::MemoryPurpose::disk))))));
}

}  // namespace
}  // namespace trainyard::tests
