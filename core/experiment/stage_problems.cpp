// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of pipeline stages. Each problem is at its field.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/measured_partition.h"
#include "core/experiment/mesh.h"
#include "core/experiment/partition.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/rpc.h"
#include "core/experiment/stages.h"
#include "core/experiment/ties.h"
#include "core/experiment/validation_result.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Problems;

constexpr const char* kPlaces = "strategy.stages.places";

// Returns the word that messages use for the owner of a stage's layers: "parameter server", "stage"
// or "worker".
std::string who(const StrategySpec& strategy) {
  if (strategy.kind == StrategyKind::rpc) return "parameter server";
  return strategy.kind == StrategyKind::hybrid ? "stage" : "worker";
}

std::string at_place(std::size_t i, const char* field) {
  return std::string(kPlaces) + "[" + std::to_string(i) + "]." + field;
}

Problem unknown_segment(const model::Model& model, std::size_t i, const std::string& name) {
  const auto is_part = [&](const model::Segment& segment) {
    return place_name(segment).starts_with(name + ".");
  };
  const auto first = std::ranges::find_if(model.segments, is_part);
  const std::string where = at_place(i, "segment");
  if (!name.empty() && first != model.segments.end())
    return {
        "layer_has_parts",
        ProblemCode::bad_input,
        where,
        fmt::format("layer {} consists of several parts, which are placed separately", name),
        fmt::format("{} to {}", place_name(*first),
                    place_name(*std::prev(std::find_if_not(first, model.segments.end(), is_part)))),
        "Name the part that the range begins with."};
  return {"unknown_layer",
          ProblemCode::bad_input,
          where,
          fmt::format("\"{}\" is not a layer that can be placed", name),
          fmt::format("{} to {}; an activation or flatten layer belongs to the layer before it",
                      place_name(model.segments.front()), place_name(model.segments.back())),
          "Name a layer by its number, such as 2, or a part of a block by layer and part, such as "
          "1.4."};
}

// Checks the list of places from first to last.
Problems problems_of_places(const std::vector<StagePlace>& places, const model::Model& model,
                            std::int64_t ranks, const StrategySpec& strategy) {
  const bool mesh = strategy.kind == StrategyKind::hybrid,
             calls = strategy.kind == StrategyKind::rpc;
  Problems problems;
  int before = -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int segment = segment_named(model, places[i].segment);
    if (places[i].rank >= ranks)
      problems.push_back(
          {"unknown_stage", ProblemCode::bad_input, at_place(i, "rank"),
           fmt::format("there is no {} {}", who(strategy), format_count(places[i].rank)),
           fmt::format("0 to {}{}", format_count(ranks - 1),
                       calls ? ", where 0 stands for the trainers" : ""),
           mesh ? "Name a stage of the mesh." : fmt::format("Name a drawn {}.", who(strategy))});
    if (segment < 0) problems.push_back(unknown_segment(model, i, places[i].segment));
    if (segment < 0) continue;
    if (i == 0 && segment != 0)
      problems.push_back({"layers_not_placed", ProblemCode::bad_input, at_place(i, "segment"),
                          fmt::format("the layers before {} are not placed", places[i].segment),
                          place_name(model.segments.front()),
                          "Begin the first range with the first layer."});
    if (segment <= before)
      problems.push_back({"places_out_of_order", ProblemCode::bad_input, at_place(i, "segment"),
                          fmt::format("{} does not follow {}", places[i].segment,
                                      place_name(model.segments[static_cast<std::size_t>(before)])),
                          "a later layer", "List ranges in the order of the layers."});
    before = std::max(before, segment);
  }
  return problems;
}

// Explains why a tied layer and its table must be on one stage.
std::string same_stage_reason(const StrategySpec& strategy) {
  if (updates_each_micro_batch(strategy))
    return ": their gradients would have to be summed before every update, but pipedream stages do "
           "not wait for each other";
  if (strategy.kind == StrategyKind::rpc) return "";
  return ": otherwise sharded replicas (strategy.mesh.shards_data) would shard the table in each "
         "of "
         "the two stages";
}

Problems problems_of_schedule(const Experiment& experiment, const model::Model& model,
                              const std::vector<int>& owners, std::int64_t ranks) {
  const PipelineSchedule schedule = schedule_of(experiment.strategy);
  const std::vector<model::Stage> stages = model::stages_of(owners);
  const bool interleaves = schedule == PipelineSchedule::interleaved_1f1b;
  const std::string one = who(experiment.strategy);
  if (schedule == PipelineSchedule::naive || schedule == PipelineSchedule::gpipe) return {};
  if (is_round_robin(stages, ranks) &&
      (interleaves || static_cast<std::int64_t>(stages.size()) == ranks))
    return {};
  const bool bound = model.ties() && !may_span_stages(experiment.strategy);
  const std::string why =
      bound ? "the last layer uses the weights of the first layer (they are tied), so both must be "
              "on the same " +
                  one + same_stage_reason(experiment.strategy)
      : interleaves
          ? std::string("strategy.stages.places assigns ranges of layers in another way")
          : fmt::format("one {0} has layers both before and after the layers of another {0}", one);
  const std::string name(base::name_of(schedule));
  return {{"schedule_does_not_fit", ProblemCode::bad_input, "strategy.stages.schedule",
           interleaves
               ? fmt::format(
                     "{} assigns ranges of layers to {}s in turn, the same number to each, but {}",
                     name, one, why)
               : fmt::format("{} gives each {} one range of layers, but {}", name, one, why),
           bound && schedule == PipelineSchedule::pipedream
               ? "naive, gpipe, 1f1b, interleaved_1f1b, zb_h1"
               : "naive, gpipe",
           bound ? "Untie the last layer, or set strategy.stages.schedule to another schedule."
                 : "Change strategy.stages.places, or set strategy.stages.schedule to another "
                   "schedule."}};
}

Problems problems_of_owners(const Experiment& experiment, const model::Model& model,
                            const std::vector<int>& owners, std::int64_t ranks) {
  const std::string one = who(experiment.strategy);
  if (experiment.strategy.kind == StrategyKind::rpc)
    if (Problems problems = remote_place_problems(experiment, model, owners); !problems.empty())
      return problems;
  const int first = first_place(experiment.strategy);
  for (int rank = first; rank < ranks; ++rank)
    if (std::find(owners.begin(), owners.end(), rank) == owners.end())
      return {
          {"stage_without_layer", ProblemCode::bad_input, kPlaces,
           fmt::format("{} {} has no layer", one, format_count(rank)),
           fmt::format("at least one layer for each of the {}", base::counted(ranks - first, one)),
           experiment.strategy.kind == StrategyKind::hybrid
               ? "Place a layer there, or lower strategy.mesh.pipeline."
               : "Place a layer there, or set the role of the device to idle."}};
  for (std::size_t s = 0; s < owners.size(); ++s)
    if (const int tied = model.segments[s].tied_to;
        tied >= 0 && owners[static_cast<std::size_t>(tied)] != owners[s] &&
        !may_span_stages(experiment.strategy))
      return {{"tied_layers_apart", ProblemCode::bad_input, kPlaces,
               fmt::format("{} uses the weight of layer {}, but that layer is on another {}{}",
                           model.segments[s].name,
                           place_name(model.segments[static_cast<std::size_t>(tied)]), one,
                           same_stage_reason(experiment.strategy)),
               fmt::format("both on one {}", one),
               fmt::format("Place both layers on one {}, or untie them.", one)}};
  return problems_of_schedule(experiment, model, owners, ranks);
}

// Returns a problem if the model has too few segments for the stages.
Problems too_many_stages(const StrategySpec& strategy, std::int64_t ranks,
                         const model::Model& model) {
  const bool bound = model.ties() && !may_span_stages(strategy);
  const std::int64_t most = std::ssize(model.segments) - (bound ? 1 : 0);
  const bool interleaves = schedule_of(strategy) == PipelineSchedule::interleaved_1f1b &&
                           strategy.stages.partition != Partition::by_hand;
  const bool mesh = strategy.kind == StrategyKind::hybrid;
  const std::string all = base::counted(ranks, who(strategy));
  if (interleaves && ranks <= most && most / ranks < 2)
    return {{"too_few_layers", ProblemCode::bad_input, "strategy.stages.schedule",
             fmt::format("interleaved_1f1b needs at least two ranges of layers for each of {}, but "
                         "the model can be cut into only {}",
                         all, format_count(most)),
             "naive, gpipe, 1f1b, zb_h1",
             "Set strategy.stages.schedule to another schedule, or use a deeper model."}};
  if (interleaves && ranks <= most && strategy.stages.chunks > most / ranks)
    return {{"too_few_layers", ProblemCode::bad_input, "strategy.stages.chunks",
             fmt::format(
                 "{} stages on each of {} are too many, because the model can be cut into only {}",
                 format_count(strategy.stages.chunks), all, base::counted(most, "layer")),
             fmt::format("at most {}", format_count(most / ranks)),
             "Lower strategy.stages.chunks, choose another schedule, or use a deeper model."}};
  if (ranks <= most) return {};
  return {{"too_few_layers", ProblemCode::bad_input,
           mesh ? "strategy.mesh.pipeline" : "topology.hosts",
           fmt::format("{} exceed the {} that the model can be cut into{}", all,
                       base::counted(most, "layer"),
                       bound ? ", because its last layer is tied to its first" : ""),
           fmt::format("at most {}", base::counted(most, who(strategy))),
           mesh ? "Lower strategy.mesh.pipeline, or use a deeper model."
                : "Set the role of some devices to idle, or use a deeper model."}};
}

}  // namespace

Problems split_problems(const Experiment& experiment) {
  if (!splits_model(experiment.strategy.kind)) return {};
  const std::string kind(base::name_of(experiment.strategy.kind));
  Problems problems;
  const bool once_a_step = experiment.strategy.kind == StrategyKind::model_parallel ||
                           experiment.strategy.kind == StrategyKind::rpc;
  if (once_a_step && experiment.strategy.stages.schedule == PipelineSchedule::pipedream)
    problems.push_back(
        {"pipedream_not_supported", ProblemCode::bad_input, "strategy.stages.schedule",
         fmt::format("pipedream updates after every micro-batch, but {} updates once per step",
                     kind),
         "naive, gpipe, 1f1b, interleaved_1f1b, zb_h1; with this strategy all of them run as naive",
         "Set strategy.stages.schedule to another schedule, or strategy.kind to pipeline."});
  if (updates_each_micro_batch(experiment.strategy) && experiment.training.needs_gradient_norm())
    problems.push_back(
        {"no_global_gradient", ProblemCode::bad_input,
         experiment.training.clip_norm > 0 ? "training.clip_norm" : "training.non_finite",
         "this setting needs the full gradient, but with pipedream each stage updates as soon as "
         "it has its own gradient",
         experiment.training.clip_norm > 0 ? "0" : "go_on, stop",
         "Change this setting, or set strategy.stages.schedule to another schedule, such as "
         "1f1b."});
  const std::int64_t stages = mesh_of(experiment).pipeline,
                     micro_batches = experiment.training.accumulation_steps;
  if (schedule_of(experiment.strategy) == PipelineSchedule::interleaved_1f1b && stages > 0 &&
      micro_batches % stages != 0)
    problems.push_back(
        {"micro_batches_not_divisible", ProblemCode::bad_input, "training.accumulation_steps",
         fmt::format("interleaved_1f1b processes micro-batches in groups of {}, one per {}, but {} "
                     "is not a multiple of that number",
                     format_count(stages), who(experiment.strategy), format_count(micro_batches)),
         fmt::format("a multiple of {}", format_count(stages)),
         "Change training.accumulation_steps, or set strategy.stages.schedule to 1f1b."});
  if (experiment.data.sharding.kind != data::ShardingKind::iid)
    problems.push_back(
        {"sharding_not_supported", ProblemCode::bad_input, "data.sharding.kind",
         calls_of(experiment.strategy) == model::RemoteCalls::none
             ? fmt::format(
                   "in {} every sample passes through all ranks, so ranks cannot own samples", kind)
             : fmt::format("in {} the samples of each step are assigned evenly to trainers, so "
                           "trainers cannot own samples",
                           kind),
         "iid", "Set data.sharding.kind to iid."});
  if (has_stages(experiment.strategy.kind) &&
      experiment.strategy.stages.partition == Partition::by_hand &&
      experiment.strategy.stages.places.empty())
    problems.push_back({"layers_not_placed", ProblemCode::bad_input, kPlaces,
                        "the list of places is empty", "at least an entry for the first layer",
                        fmt::format("List the first layer of each range and its {}, or set "
                                    "strategy.stages.partition to cost.",
                                    who(experiment.strategy))});
  return problems;
}

Problems stage_problems(const Experiment& experiment, const model::Model& model) {
  if (!has_stages(experiment.strategy.kind)) return {};
  const StageSpec& stages = experiment.strategy.stages;
  const std::int64_t ranks = mesh_of(experiment).pipeline;
  const bool calls = experiment.strategy.kind == StrategyKind::rpc;
  if (Problems problems = calls ? remote_problems(experiment, model)
                                : too_many_stages(experiment.strategy, ranks, model);
      !problems.empty())
    return problems;
  if (Problems problems = time_problems(stages, model); !problems.empty()) return problems;
  Resolved drawn;
  drawn.document = experiment;
  drawn.model = model;
  drawn.ranks.resize(static_cast<std::size_t>(mesh_of(experiment).ranks()));
  const std::vector<StagePlace> places = places_of(drawn);
  if (Problems problems = problems_of_places(places, model, ranks, experiment.strategy);
      stages.partition == Partition::by_hand && !problems.empty())
    return problems;
  return problems_of_owners(experiment, model, owners_by(places, model), ranks);
}

}  // namespace trainyard::experiment
