// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "core/base/fields.h"
#include "core/experiment/fields.h"
#include "core/experiment/measured_partition.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using model::LayerKind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Experiment piped(Experiment e,
                 PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward) {
  e.strategy.kind = StrategyKind::pipeline;
  e.strategy.stages.schedule = schedule;
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 4;
  return e;
}

Experiment by_hand(Experiment e, std::vector<StagePlace> places) {
  e.strategy.stages.partition = Partition::by_hand;
  e.strategy.stages.places = std::move(places);
  return e;
}

// Linear layers of these widths, after 7 features; 5 classes.
Experiment deep(int ranks, const std::vector<std::int64_t>& widths) {
  Experiment e = strategy::small(ranks);
  e.model.layers.clear();
  for (const std::int64_t width : widths) e.model.layers.push_back({LayerKind::linear, width});
  e.model.layers.push_back({LayerKind::linear, 0});
  return piped(e);
}

double flops_of(const Resolved& e, int s) {
  const model::Segment& segment = e.model.segments[static_cast<std::size_t>(s)];
  return static_cast<double>(segment.forward_flops() + segment.backward_weight_flops() +
                             (s > 0 ? segment.backward_input_flops() : 0));
}

// Returns the seconds of the segments of each rank.
std::vector<double> seconds_of(const Resolved& e, const std::vector<int>& owners) {
  std::vector<double> list(static_cast<std::size_t>(e.world()));
  for (std::size_t s = 0; s < owners.size(); ++s)
    list[static_cast<std::size_t>(owners[s])] +=
        flops_of(e, static_cast<int>(s)) /
        e.document.topology.hosts[0].devices[static_cast<std::size_t>(owners[s])].peak_flops;
  return list;
}

// Returns all partitions into one range of segments per rank, as the rank of each segment.
std::vector<std::vector<int>> all_cuts(const Resolved& e) {
  const int segments = static_cast<int>(e.model.segments.size());
  std::vector<std::vector<int>> all;
  for (unsigned cuts = 0; cuts < 1U << (segments - 1); ++cuts) {
    std::vector<int> owners(1, 0);
    for (int s = 1; s < segments; ++s)
      owners.push_back(owners.back() + static_cast<int>(cuts >> (s - 1) & 1U));
    if (owners.back() + 1 == e.world()) all.push_back(std::move(owners));
  }
  return all;
}

double best(const Resolved& e) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& owners : all_cuts(e)) {
    const auto seconds = seconds_of(e, owners);
    least = std::min(least, *std::max_element(seconds.begin(), seconds.end()));
  }
  return least;
}

TEST(Partition, by_cost_minimizes_the_time_of_the_slowest_rank) {
  for (const auto& widths : {std::vector<std::int64_t>{9, 9, 9, 9, 9, 9},
                             {40, 3, 3, 3, 3, 50, 4},
                             {2, 4, 8, 16, 32, 64, 128}})
    for (const int ranks : {2, 3, 5}) {
      Experiment e = deep(ranks, widths);
      e.topology.hosts[0].devices[1].peak_flops *= 3;  // devices of different speeds
      const Resolved r = strategy::resolved(e);
      const auto owners = owners_of(r);
      const auto seconds = seconds_of(r, owners);
      EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
      EXPECT_EQ(owners.back(), ranks - 1);
      EXPECT_DOUBLE_EQ(*std::max_element(seconds.begin(), seconds.end()), best(r));
    }
}

// Measured times, scaled by the slowness of the device relative to the fastest one.
TEST(Partition, by_measured_times_minimizes_the_time_of_the_slowest_rank) {
  for (const auto& seconds : {std::vector<double>{1, 1, 1, 1, 1, 1, 1},
                              {9, 1, 1, 1, 1, 1, 1},
                              {1, 2, 3, 4, 5, 6, 7},
                              {3, 0.5, 0.5, 4, 0, 8, 1}})
    for (const int ranks : {1, 2, 3, 5}) {
      Experiment e = deep(ranks, {9, 9, 9, 9, 9, 9});
      e.topology.hosts[0].devices[static_cast<std::size_t>(ranks - 1)].peak_flops *= 2;
      e.strategy.stages.partition = Partition::measured;
      ASSERT_TRUE(needs_measured_times(e.strategy));
      Resolved r = strategy::resolved(e);
      std::vector<SegmentTime> times;
      for (std::size_t s = 0; s < seconds.size(); ++s)
        times.push_back({place_name(r.model.segments[s]), seconds[s]});
      set_measured_times(r, times);
      EXPECT_FALSE(needs_measured_times(r.document.strategy));
      const auto taken =
          [&](const std::vector<int>& owners) {  // of the slowest rank, and the sum of squares
            std::vector<double> of_rank(static_cast<std::size_t>(ranks));
            for (std::size_t s = 0; s < owners.size(); ++s)
              of_rank[static_cast<std::size_t>(owners[s])] +=
                  seconds[s] * (owners[s] == ranks - 1 ? 1 : 2);
            return std::pair{
                *std::max_element(of_rank.begin(), of_rank.end()),
                std::inner_product(of_rank.begin(), of_rank.end(), of_rank.begin(), 0.0)};
          };
      std::pair least{std::numeric_limits<double>::infinity(), 0.0};
      for (const auto& owners : all_cuts(r)) least = std::min(least, taken(owners));
      EXPECT_EQ(taken(owners_of(r)), least);
      const auto read = resolved_from_json(to_json(r));
      ASSERT_TRUE(read) << base::to_string(read.error());
      EXPECT_EQ(read->document, r.document);  // not measured or placed again
    }
}

// The default schedule is not reported.
TEST(Schedule, without_effect_is_reported) {
  Experiment e = deep(2, {9, 9});
  e.strategy.kind = StrategyKind::model_parallel;
  EXPECT_THAT(*stages_line(strategy::resolved(e)), testing::Not(HasSubstr("schedule")));
  e.strategy.stages.schedule = PipelineSchedule::gpipe;
  EXPECT_THAT(*stages_line(strategy::resolved(e)), HasSubstr("strategy.stages.schedule=gpipe"));
  e.strategy.kind = StrategyKind::pipeline;
  EXPECT_THAT(*stages_line(strategy::resolved(e)), testing::Not(HasSubstr("schedule")));
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {.data = 1, .pipeline = 1, .tensor = 2, .shards_data = false};
  EXPECT_THAT(*stages_line(strategy::resolved(e)), HasSubstr("strategy.stages.schedule=gpipe"));
}

TEST(Schedule, pipedream_requires_a_pipeline) {
  Experiment e = deep(2, {9, 9});
  e.strategy.stages.schedule = PipelineSchedule::pipedream;
  e.strategy.kind = StrategyKind::model_parallel;
  EXPECT_THAT(first_problem(e),
              AllOf(IsProblem("pipedream_not_supported", "strategy.stages.schedule"),
                    Mentions("model_parallel")));
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {.data = 1, .pipeline = 1, .tensor = 2, .shards_data = false};
  EXPECT_THAT(first_problem(e),
              AllOf(IsProblem("pipedream_not_supported", "strategy.stages.schedule"),
                    Mentions("one stage")));
}

TEST(Schedule, pipedream_does_not_support_sharded_parameters) {
  Experiment e = deep(4, {9, 9});
  e.strategy.stages.schedule = PipelineSchedule::pipedream;
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {.data = 2, .pipeline = 2, .tensor = 1, .shards_data = false};
  EXPECT_EQ(first_problem(e), base::Problem{});
  e.strategy.mesh.shards_data = true;
  EXPECT_THAT(first_problem(e),
              AllOf(IsProblem("pipedream_not_supported", "strategy.stages.schedule"),
                    Mentions("strategy.mesh.shards_data")));
}

TEST(Partition, by_measured_times_is_by_cost_until_layers_are_measured) {
  Experiment e = deep(3, {40, 3, 3, 3, 3, 50});
  const Resolved by_cost = strategy::resolved(e);
  e.strategy.stages.partition = Partition::measured;
  Resolved r = strategy::resolved(e);
  EXPECT_EQ(owners_of(r), owners_of(by_cost));
  EXPECT_THAT(*stages_line(r), AllOf(HasSubstr("by cost"), HasSubstr("measured")));
  std::vector<SegmentTime> times;
  for (const model::Segment& segment : r.model.segments)
    times.push_back({place_name(segment), 0.001});
  set_measured_times(r, times);
  EXPECT_THAT(*stages_line(r), HasSubstr("2 ms, 2 ms, 3 ms"));
}

TEST(Partition, by_times_of_other_layers_is_refused) {
  Experiment e = deep(2, {9, 9});
  e.strategy.stages.partition = Partition::measured;
  e.strategy.stages.times = {{"0", 1}, {"1", 1}};
  EXPECT_THAT(first_problem(e), IsProblem("times_incomplete", "strategy.stages.times"));
  e.strategy.stages.times = {{"0", 1}, {"2", 1}, {"1", 1}};
  EXPECT_THAT(first_problem(e),
              IsProblem("times_out_of_order", "strategy.stages.times[1].segment"));
}

TEST(Partition, balances_ranks_other_than_the_slowest) {
  const Resolved r = strategy::resolved(
      deep(4, {300, 8, 8, 8, 8}));  // the layers with 300 outputs and 300 inputs have one rank each
  EXPECT_THAT(owners_of(r), ElementsAre(0, 1, 2, 2, 3, 3));
}

// 1,000 blocks, in a short time.
TEST(Partition, balances_many_layers) {
  Experiment e = piped(strategy::small_gpt(4));
  e.model.layers[1].blocks = 1000;
  const Resolved r = strategy::resolved(e);
  const auto seconds = seconds_of(r, owners_of(r));
  EXPECT_LE(*std::max_element(seconds.begin(), seconds.end()),
            1.001 * std::accumulate(seconds.begin(), seconds.end(), 0.0) / 4);
}

TEST(Partition, by_memory_assigns_fewer_layers_to_ranks_with_more_micro_batches) {
  Experiment e = deep(2, {12, 12, 12, 12, 12});
  e.training.batch_per_rank = 20;
  e.training.accumulation_steps = 8;
  e.strategy.stages.partition = Partition::memory;
  const auto count = [](const std::vector<int>& owners) {
    return std::count(owners.begin(), owners.end(), 0);
  };
  const auto even = count(owners_of(strategy::resolved(e)));
  e.strategy.stages.schedule = PipelineSchedule::gpipe;
  EXPECT_LT(even, count(owners_of(strategy::resolved(e))));  // 2 and 1 of 1f1b, 8 and 8 of gpipe
}

TEST(Partition, assigns_interleaved_stages_in_round_robin) {
  Experiment e = deep(2, {9, 9, 9, 9, 9, 9, 9});
  e.strategy.stages.schedule = PipelineSchedule::interleaved_1f1b;
  const auto stages = model::stages_of(owners_of(strategy::resolved(e)));
  ASSERT_EQ(stages.size(), 4u);
  for (std::size_t k = 0; k < stages.size(); ++k)
    EXPECT_EQ(stages[k].rank, static_cast<int>(k % 2));
}

TEST(Partition, puts_a_tied_layer_last) {
  Experiment e = strategy::small_tied_gpt(3);
  e.strategy.kind = StrategyKind::model_parallel;
  for (const Partition by : {Partition::cost, Partition::memory}) {
    e.strategy.stages.partition = by;
    const auto owners = owners_of(strategy::resolved(e));
    EXPECT_EQ(owners.front(), 0);
    EXPECT_EQ(owners.back(), 2);
  }
}

// Replicas of a stage shard its table.
TEST(Partition, puts_a_tied_layer_on_the_stage_of_a_sharded_table) {
  Experiment e = strategy::small_tied_gpt(6);
  e.strategy.kind = StrategyKind::hybrid;
  e.strategy.mesh = {2, 3, 1, true};
  e.strategy.stages.schedule = PipelineSchedule::gpipe;
  const auto owners = owners_of(strategy::resolved(e));
  EXPECT_EQ(owners.front(), 0);
  EXPECT_EQ(owners.back(), 0);
  EXPECT_EQ(owners[owners.size() - 2], 2);
}

// The resolved experiment contains the rank of every layer, so all ranks use the same partition.
TEST(Partition, is_in_the_resolved_experiment) {
  const Resolved r = strategy::resolved(deep(3, {9, 9, 9, 9}));
  EXPECT_EQ(r.document.strategy.stages.places.size(), 3u);
  const auto read = resolved_from_json(to_json(r));
  ASSERT_TRUE(read) << base::to_string(read.error());
  EXPECT_EQ(read->document, r.document);
  EXPECT_EQ(owners_of(*read), owners_of(r));
}

TEST(StagePlaces, are_refused_if_invalid) {
  const Experiment e = deep(2, {9, 9, 9});
  EXPECT_EQ(first_problem(by_hand(e, {{"0", 0}, {"2", 1}})), base::Problem{});
  EXPECT_THAT(first_problem(by_hand(e, {})),
              IsProblem("layers_not_placed", "strategy.stages.places"));
  EXPECT_THAT(first_problem(by_hand(e, {{"0", 0}, {"7", 1}})),
              AllOf(IsProblem("unknown_layer", "strategy.stages.places[1].segment"),
                    Mentions("\"7\""), Mentions("0 to 3")));
  EXPECT_THAT(first_problem(by_hand(piped(strategy::small_gpt(2)), {{"0", 0}, {"1", 1}})),
              AllOf(IsProblem("layer_has_parts", "strategy.stages.places[1].segment"),
                    Mentions("1.0 to 1.")));
  EXPECT_THAT(first_problem(by_hand(e, {{"1", 0}, {"2", 1}})),
              IsProblem("layers_not_placed", "strategy.stages.places[0].segment"));
  EXPECT_THAT(first_problem(by_hand(e, {{"0", 0}, {"2", 1}, {"1", 0}})),
              IsProblem("places_out_of_order", "strategy.stages.places[2].segment"));
  EXPECT_THAT(first_problem(by_hand(e, {{"0", 0}, {"2", 2}})),
              AllOf(IsProblem("unknown_stage", "strategy.stages.places[1].rank"),
                    Mentions("worker 2"), Mentions("0 to 1")));
  EXPECT_THAT(
      first_problem(by_hand(e, {{"0", 0}})),
      AllOf(IsProblem("stage_without_layer", "strategy.stages.places"), Mentions("worker 1")));
  EXPECT_THAT(first_problem(by_hand(e, {{"0", 0}, {"1", 1}, {"2", 0}})),
              IsProblem("schedule_does_not_fit", "strategy.stages.schedule"));
}

TEST(StageProblems, pipedream_refuses_settings_that_need_the_global_gradient) {
  Experiment e = deep(2, {9, 9, 9});
  e.strategy.stages.schedule = PipelineSchedule::pipedream;
  EXPECT_EQ(first_problem(e), base::Problem{});
  e.training.clip_norm = 1;
  EXPECT_THAT(first_problem(e), IsProblem("no_global_gradient", "training.clip_norm"));
  e.training.clip_norm = 0;
  e.training.non_finite = NonFinite::skip;
  EXPECT_THAT(first_problem(e), IsProblem("no_global_gradient", "training.non_finite"));
}

TEST(StageProblems, name_setting_limit_and_alternative) {
  EXPECT_THAT(first_problem(deep(4, {9, 9})), AllOf(IsProblem("too_few_layers", "topology.hosts"),
                                                    Mentions("4 workers"), Mentions("3 layers")));
  Experiment e = deep(2, {9, 9, 9});
  e.strategy.stages.schedule = PipelineSchedule::interleaved_1f1b;
  EXPECT_EQ(first_problem(e), base::Problem{});
  e.training.accumulation_steps = 3;
  EXPECT_THAT(first_problem(e),
              AllOf(IsProblem("micro_batches_not_divisible", "training.accumulation_steps"),
                    Mentions("a multiple of 2")));
  e.training.accumulation_steps = 4;
  e.strategy.stages.chunks = 3;
  EXPECT_THAT(first_problem(e), AllOf(IsProblem("too_few_layers", "strategy.stages.chunks"),
                                      Mentions("3 stages"), Mentions("4 layers")));
  Experiment tied = piped(strategy::small_tied_gpt(2), PipelineSchedule::pipedream);
  EXPECT_THAT(first_problem(tied),
              AllOf(IsProblem("schedule_does_not_fit", "strategy.stages.schedule"),
                    Mentions("tied"), Mentions("naive, gpipe, 1f1b, ")));
  tied = by_hand(std::move(tied), {{"0", 0}, {"1.4", 1}});
  EXPECT_THAT(first_problem(tied),
              AllOf(IsProblem("tied_layers_apart", "strategy.stages.places"), Mentions("layer 0")));
  tied.strategy.stages.schedule = PipelineSchedule::one_forward_one_backward;
  EXPECT_EQ(first_problem(tied), base::Problem{});
  Experiment sharded = strategy::small_tied_gpt(4);
  sharded.strategy.kind = StrategyKind::hybrid;
  sharded.strategy.mesh = {1, 4, 1, true};
  EXPECT_EQ(first_problem(sharded), base::Problem{}) << "one replica has the full table";
  sharded.strategy.mesh = {2, 2, 1, true};
  EXPECT_THAT(
      first_problem(sharded),
      AllOf(IsProblem("schedule_does_not_fit", "strategy.stages.schedule"), Mentions("tied"),
            Mentions("strategy.mesh.shards_data"), Mentions("(accepted: naive, gpipe)")));
  Experiment owned = deep(2, {9, 9});
  owned.data.sharding.kind = data::ShardingKind::size_skew;
  EXPECT_THAT(first_problem(owned), IsProblem("sharding_not_supported", "data.sharding.kind"));
  Experiment compressed = deep(2, {9, 9});
  compressed.strategy.compression.kind = compute::compression::Scheme::fp16;
  EXPECT_THAT(first_problem(compressed),
              IsProblem("strategy_without_compression", "strategy.compression.kind"));
}

// The first problem must be fixed before the second applies, so they are not reported together.
TEST(StageProblems, are_reported_together_with_other_problems) {
  const auto places_of_problems = [](const Experiment& e) {
    std::vector<std::string> list;
    for (const base::Problem& problem : validate(e, ".")) list.push_back(problem.where);
    return list;
  };
  Experiment e = deep(4, {9, 9});
  e.training.optimizer.learning_rate = -1;
  e.training.batch_per_rank = 1000;
  e.data.sharding.kind = data::ShardingKind::size_skew;
  EXPECT_THAT(places_of_problems(e),
              testing::UnorderedElementsAre("topology.hosts", "training.optimizer.learning_rate",
                                            "training.batch_per_rank", "data.sharding.kind"));
  Experiment split = strategy::small_gpt(4);
  split.strategy.kind = StrategyKind::tensor_parallel;
  split.model.layers[1].heads = 1;
  split.training.epochs = 0;
  EXPECT_THAT(places_of_problems(split),
              testing::UnorderedElementsAre("model.layers[1].heads", "training.epochs"));
  split.strategy.kind = StrategyKind::hybrid;
  split.strategy.mesh = {.data = 3, .pipeline = 1, .tensor = 2, .shards_data = false};
  EXPECT_THAT(
      places_of_problems(split),
      testing::UnorderedElementsAre("model.layers[1].heads", "training.epochs", "strategy.mesh"));
  Experiment grouped = deep(2, {9, 9, 9});
  grouped.strategy.stages = {.schedule = PipelineSchedule::interleaved_1f1b, .chunks = 30};
  grouped.training.accumulation_steps = 7;
  EXPECT_THAT(
      places_of_problems(grouped),
      testing::UnorderedElementsAre("training.accumulation_steps", "strategy.stages.chunks"));
  grouped = by_hand(grouped, {});
  EXPECT_THAT(
      places_of_problems(grouped),
      testing::UnorderedElementsAre("training.accumulation_steps", "strategy.stages.places"));
  EXPECT_THAT(
      places_of_problems(by_hand(deep(3, {9, 9, 9}), {{"0", 0}, {"7", 9}, {"2", 8}, {"1", 2}})),
      ElementsAre("strategy.stages.places[1].rank", "strategy.stages.places[1].segment",
                  "strategy.stages.places[2].rank", "strategy.stages.places[3].segment"));
}

TEST(StageProblems, are_not_searched_in_settings_out_of_range) {
  Experiment e = deep(2, {9, 9, 9});
  e.strategy.stages.partition = Partition::memory;
  e.training.accumulation_steps = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(first_problem(e), IsProblem("out_of_range", "training.accumulation_steps"));
  e = deep(2, {9, 9, 9});
  e.topology.hosts.clear();
  for (const PipelineSchedule schedule :
       {PipelineSchedule::one_forward_one_backward, PipelineSchedule::interleaved_1f1b}) {
    e.strategy.stages.schedule = schedule;
    EXPECT_THAT(first_problem(e), IsProblem("no_worker", "topology.hosts"));
  }
}

bool uses_schedule(const experiment::StrategySpec& strategy) {
  for (const base::FieldDescription& part : base::describe(strategy))
    for (const base::FieldDescription& field : part.fields)
      if (part.name == "stages" && field.name == "schedule") return part.used && field.used;
  return false;
}

TEST(Stages, use_a_schedule_with_several_stages_or_if_one_is_set) {
  experiment::StrategySpec strategy;
  for (const auto kind : {StrategyKind::pipeline, StrategyKind::model_parallel, StrategyKind::rpc,
                          StrategyKind::hybrid}) {
    strategy.kind = kind;
    strategy.mesh.pipeline = 1;
    EXPECT_EQ(uses_schedule(strategy), kind == StrategyKind::pipeline);
    strategy.mesh.pipeline = 2;
    EXPECT_EQ(uses_schedule(strategy),
              kind == StrategyKind::pipeline || kind == StrategyKind::hybrid);
  }
  strategy.kind = StrategyKind::rpc;
  strategy.stages.schedule = PipelineSchedule::gpipe;
  EXPECT_TRUE(uses_schedule(strategy)) << "the user can reset it";
}

TEST(Stages, are_ignored_by_other_strategies) {
  Experiment e = strategy::small(2);
  e.strategy.stages.partition = Partition::by_hand;
  EXPECT_EQ(first_problem(e), base::Problem{});
  EXPECT_TRUE(strategy::resolved(e).document.strategy.stages.places.empty());
}

// All ranks take all samples of a step.
TEST(Stages, pipeline_is_one_replica) {
  const Resolved r = strategy::resolved(deep(3, {9, 9, 9}));
  EXPECT_EQ(r.global_batch, 16);
  EXPECT_EQ(r.steps_per_epoch, 16);  // 15 of 16 samples, and 10
  EXPECT_EQ(r.held_out(2), (std::pair<std::int64_t, std::int64_t>{0, 53}));
}

}  // namespace
}  // namespace trainyard::experiment
