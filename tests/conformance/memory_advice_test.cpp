// SPDX-License-Identifier: GPL-3.0-or-later
// Memory advice: the advised settings are applied, and the experiment must then fit, at the stated
// cost.
#include <gmock/gmock.h>

#include "core/base/json.h"
#include "core/session/advice/memory_problems.h"
#include "core/sim/simulator.h"
#include "tests/conformance/recomputed_training.h"

namespace trainyard::tests::recomputed {
namespace {

using model::LayerKind;
using session::MemoryOption;

// Deep enough for four stages, and so wide that half of it is more than the least memory that a
// device is drawn with.
Experiment deep(int ranks) {
  Experiment e = strategy::small(ranks);
  e.data.features = 256, e.data.classes = 64;
  e.data.train_samples = 4096;
  e.model.layers.clear();
  for (int i = 0; i < 7; ++i)
    e.model.layers.insert(e.model.layers.end(), {{LayerKind::linear, 256}, {LayerKind::tanh, 0}});
  e.model.layers.push_back({LayerKind::linear, 0});
  e.training.batch_per_rank = 32;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  return e;
}

Experiment in_deep_stages(PipelineSchedule schedule, std::int64_t samples) {
  Experiment e = in_stages(deep(4), schedule, 8);
  e.training.batch_per_rank = samples;
  return e;
}

Experiment in_mesh(int ranks, int pipeline, int tensor) {
  Experiment e = trained_as(deep(ranks), StrategyKind::hybrid, 4);
  e.strategy.mesh = {0, pipeline, tensor, false};
  e.strategy.stages.schedule = PipelineSchedule::gpipe;
  return e;
}

experiment::Resolved resolved(const Experiment& e) { return experiment::resolve(e, ".").value(); }
plan::Plan plan_of(const experiment::Resolved& e) { return strategy::make_plan(e).value(); }

std::int64_t most_of(const Experiment& e) {
  const plan::Plan plan = plan_of(resolved(e));
  std::int64_t most = 0;
  for (int rank = 0; rank < plan.ranks; ++rank)
    most = std::max(most, session::memory_of(plan, rank).total());
  return most;
}

std::vector<std::int64_t> lacking_of(const experiment::Resolved& e) {
  return session::excess_bytes(e, session::memory_of(plan_of(e)));
}

std::vector<MemoryOption> options_that_fit(const experiment::Resolved& e,
                                           const session::CostOfStep& cost = {}) {
  return session::options_that_fit(e, lacking_of(e), cost);
}

// For ranks that lack memory as drawn: the maximum that one of them needs with the advised
// settings.
std::int64_t most_where_room_lacks(const experiment::Resolved& drawn,
                                   const experiment::Resolved& fits) {
  const auto lacking = lacking_of(drawn);
  const auto memory = session::memory_of(plan_of(fits));
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank < lacking.size(); ++rank)
    if (lacking[rank] > 0) most = std::max(most, memory[rank].total());
  return most;
}

// The same on devices that have so much of what the worst of them takes.
Experiment with_memory(Experiment e, double part) {
  const auto bytes = static_cast<std::int64_t>(part * static_cast<double>(most_of(e)));
  for (topology::Host& host : e.topology.hosts)
    for (topology::Device& device : host.devices) device.memory_bytes = bytes;
  return e;
}

Experiment applied(const Experiment& e, const MemoryOption& way) {
  base::Json json = experiment::to_json(e);
  for (const std::string& setting : way.settings)
    EXPECT_TRUE(experiment::apply_override(json, setting)) << setting;
  return experiment::from_json(json).value();
}

base::Result<session::StepCost> simulated(const experiment::Resolved& e) {
  sim::Options options;
  options.steps = 3;
  return sim::simulate(plan_of(e), topology::Network(e.document.topology), options)
      .map([](const sim::Outcome& outcome) {
        return session::StepCost{outcome.median_step_seconds, outcome.step_wire_bytes()};
      });
}

const MemoryOption* way_with(const std::vector<MemoryOption>& ways, const std::string& setting) {
  const auto at = std::ranges::find_if(ways, [&](const MemoryOption& way) {
    return std::ranges::find(way.settings, setting) != way.settings.end();
  });
  return at == ways.end() ? nullptr : &*at;
}

TEST(MemoryAdvice, of_each_option_fits_at_the_stated_cost) {
  const std::vector<std::pair<const char*, Experiment>> all{
      {"mirrored", trained_as(deep(4), StrategyKind::mirrored, 1)},
      {"gpipe", in_deep_stages(PipelineSchedule::gpipe, 256)},
      {"pipedream", in_deep_stages(PipelineSchedule::pipedream, 32)},
      {"tensor_parallel", trained_as(deep(2), StrategyKind::tensor_parallel, 2)},
      {"hybrid", in_mesh(4, 2, 1)},
  };
  for (const auto& [name, whole] : all) {
    SCOPED_TRACE(name);
    const Experiment e = with_memory(whole, 0.75);
    const experiment::Resolved drawn = resolved(e);
    ASSERT_FALSE(session::find_memory_problems(drawn, plan_of(drawn)).empty());
    const std::vector<MemoryOption> ways = options_that_fit(drawn, simulated);
    EXPECT_FALSE(ways.empty());
    double before = 0;
    for (const MemoryOption& way : ways) {
      SCOPED_TRACE(testing::PrintToString(way.settings));
      const Experiment other = applied(e, way);
      const experiment::Resolved fits = resolved(other);
      EXPECT_TRUE(session::find_memory_problems(fits, plan_of(fits)).empty());
      EXPECT_EQ(most_where_room_lacks(drawn, fits), way.bytes);
      EXPECT_EQ(fits.global_batch, drawn.global_batch);
      ASSERT_TRUE(way.step);
      EXPECT_EQ(way.step->seconds, simulated(fits)->seconds);
      EXPECT_EQ(way.step->wire_bytes, simulated(fits)->wire_bytes);
      EXPECT_GE(way.step->seconds, std::exchange(before, way.step->seconds)) << "the fastest first";
      EXPECT_FALSE(way.other_cost.empty());
    }
  }
}

// The fewest devices per replica that fit.
TEST(MemoryAdvice, includes_the_smallest_mesh_that_fits) {
  const Experiment e = trained_as(deep(4), StrategyKind::mirrored, 1);
  const std::vector<MemoryOption> half = options_that_fit(resolved(with_memory(e, 0.75)));
  const MemoryOption* stages = way_with(half, "strategy.mesh.pipeline=2");
  ASSERT_TRUE(stages);
  EXPECT_THAT(
      stages->settings,
      testing::ElementsAre("strategy.kind=hybrid", "strategy.mesh.data=2",
                           "strategy.mesh.pipeline=2", "strategy.mesh.tensor=1",
                           "strategy.stages.partition=memory", "training.accumulation_steps=2"));
  EXPECT_THAT(stages->other_cost, testing::HasSubstr("33 %"));
  EXPECT_TRUE(way_with(half, "strategy.mesh.tensor=2"));
  const std::vector<MemoryOption> third = options_that_fit(resolved(with_memory(e, 0.4)));
  EXPECT_TRUE(way_with(third, "strategy.kind=pipeline"));
  const MemoryOption* both = way_with(third, "strategy.mesh.tensor=2");
  ASSERT_TRUE(both);
  EXPECT_THAT(both->settings, testing::Contains("strategy.mesh.pipeline=2"));
  EXPECT_THAT(both->other_cost, testing::HasSubstr("20 %"));
}

TEST(MemoryAdvice, for_a_mesh_includes_sharded_moments) {
  const std::vector<MemoryOption> ways =
      options_that_fit(resolved(with_memory(in_mesh(4, 2, 1), 0.9)));
  const MemoryOption* shards = way_with(ways, "strategy.mesh.shards_data=true");
  ASSERT_TRUE(shards);
  EXPECT_THAT(shards->settings, testing::ElementsAre("strategy.mesh.shards_data=true",
                                                     "strategy.fsdp.shard=optimizer"));
  const std::vector<MemoryOption> alone =
      options_that_fit(resolved(with_memory(in_mesh(2, 2, 1), 0.9)));
  EXPECT_FALSE(way_with(alone, "strategy.mesh.shards_data=true"))
      << "one replica has no peer to share with";
}

TEST(MemoryAdvice, for_pipelines_includes_a_schedule_with_less_memory) {
  // Micro-batches that take more than the layers do, but where versions of these do.
  const auto ways_of = [](PipelineSchedule schedule) {
    return options_that_fit(resolved(with_memory(
        in_deep_stages(schedule, schedule == PipelineSchedule::pipedream ? 32 : 256), 0.9)));
  };
  EXPECT_TRUE(way_with(ways_of(PipelineSchedule::gpipe), "strategy.stages.schedule=1f1b"));
  const std::vector<MemoryOption> of_pipedream = ways_of(PipelineSchedule::pipedream);
  const MemoryOption* pipedream = way_with(of_pipedream, "strategy.stages.schedule=1f1b");
  ASSERT_TRUE(pipedream);
  EXPECT_THAT(pipedream->other_cost, testing::HasSubstr("update per step"));
  EXPECT_TRUE(way_with(ways_of(PipelineSchedule::one_forward_one_backward),
                       "strategy.stages.schedule=naive"));
}

// Half the micro-batch would be twice the updates; and parts of layers, which no pipeline passes,
// are updated once a step.
TEST(MemoryAdvice, for_updates_per_micro_batch_states_a_changed_number_of_updates) {
  for (const MemoryOption& way : options_that_fit(
           resolved(with_memory(in_deep_stages(PipelineSchedule::pipedream, 256), 0.75)))) {
    SCOPED_TRACE(testing::PrintToString(way.settings));
    EXPECT_FALSE(std::ranges::any_of(way.settings, [](const std::string& setting) {
      return setting.starts_with("training.accumulation_steps");
    }));
    const Experiment other = applied(in_deep_stages(PipelineSchedule::pipedream, 256), way);
    EXPECT_EQ(way.other_cost.find("update per step") == std::string::npos,
              experiment::updates_each_micro_batch(other.strategy));
  }
  EXPECT_TRUE(way_with(
      options_that_fit(resolved(with_memory(in_deep_stages(PipelineSchedule::pipedream, 32), 0.9))),
      "strategy.kind=tensor_parallel"));
}

TEST(MemoryAdvice, for_activations_includes_16_bits) {
  Experiment e = trained_as(deep(2), StrategyKind::mirrored, 1);
  e.training.batch_per_rank = 2048;
  EXPECT_TRUE(
      way_with(options_that_fit(resolved(with_memory(e, 0.75))), "training.precision=bf16"));
  e.training.precision = experiment::Precision::bf16;
  EXPECT_FALSE(
      way_with(options_that_fit(resolved(with_memory(e, 0.75))), "training.precision=bf16"));
}

// Outputs that are offloaded already leave other options.
TEST(MemoryAdvice, with_offloaded_activations_includes_offloaded_moments) {
  Experiment e = trained_as(deep(1), StrategyKind::one_device, 1);
  e.training.swap.activations = experiment::OffloadTarget::host;
  const std::vector<MemoryOption> ways = options_that_fit(resolved(with_memory(e, 0.75)));
  const MemoryOption* const way = way_with(ways, "training.swap.optimizer=host");
  ASSERT_TRUE(way);
  EXPECT_EQ(way->settings.size(), 1U);
}

TEST(MemoryAdvice, combines_two_settings_if_no_single_one_fits) {
  Experiment e = trained_as(deep(1), StrategyKind::one_device, 1);
  e.training.batch_per_rank = 512;
  const Experiment small = with_memory(e, 0.5);
  const std::vector<MemoryOption> ways = options_that_fit(resolved(small));
  ASSERT_FALSE(ways.empty());
  for (const MemoryOption& way : ways) {
    SCOPED_TRACE(testing::PrintToString(way.settings));
    const experiment::Resolved fits = resolved(applied(small, way));
    EXPECT_TRUE(session::find_memory_problems(fits, plan_of(fits)).empty());
    EXPECT_NE(way.other_cost.find(", and "), std::string::npos) << way.other_cost;
  }
}

TEST(MemoryAdvice, includes_a_mesh_with_all_settings_it_needs) {
  Experiment e = trained_as(deep(4), StrategyKind::mirrored, 1);
  e.training.batch_per_rank = 512;
  const Experiment small = with_memory(e, 0.3);
  const std::vector<MemoryOption> ways = options_that_fit(resolved(small));
  const MemoryOption* const way = way_with(ways, "strategy.kind=tensor_parallel");
  ASSERT_TRUE(way);
  EXPECT_GT(way->settings.size(), 4U) << "a single setting does not suffice";
  const experiment::Resolved fits = resolved(applied(small, *way));
  EXPECT_TRUE(session::find_memory_problems(fits, plan_of(fits)).empty());
  EXPECT_EQ(fits.global_batch, resolved(small).global_batch);
}

TEST(MemoryAdvice, for_data_parallel_includes_its_devices) {
  const Experiment e = with_memory(trained_as(deep(4), StrategyKind::data_parallel, 1), 0.75);
  const std::vector<MemoryOption> ways = options_that_fit(resolved(e));
  EXPECT_TRUE(way_with(ways, "strategy.kind=fsdp"));
  EXPECT_TRUE(way_with(ways, "strategy.kind=hybrid") || way_with(ways, "strategy.kind=pipeline"));
}

TEST(MemoryAdvice, states_the_simulated_step_time_of_the_drawing_and_of_each_option) {
  const experiment::Resolved drawn =
      resolved(with_memory(trained_as(deep(4), StrategyKind::mirrored, 1), 0.75));
  const auto cost = [](const experiment::Resolved& e) -> base::Result<session::StepCost> {
    if (e.document.strategy.kind == StrategyKind::fsdp) return session::StepCost{0.25, -1};
    return session::StepCost{0.5, 3'000'000};
  };
  const std::string advice =
      session::find_memory_problems(drawn, plan_of(drawn), cost).front().advice;
  EXPECT_THAT(advice, testing::AllOf(testing::HasSubstr("500 ms"), testing::HasSubstr("3 MB")));
  EXPECT_THAT(advice,
              testing::ContainsRegex(R"(strategy.fsdp.shard=optimizer \([0-9.]+ [kM]?B; 250 ms )"));
  EXPECT_THAT(advice, testing::ContainsRegex(R"( \([0-9.]+ [kM]?B; 500 ms and 3 MB )"));
}

}  // namespace
}  // namespace trainyard::tests::recomputed
