// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of stages, each at its field.
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

// Name of the unit that has layers, for messages.
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
    return {ProblemCode::bad_input, where, "layer " + name + " is several, and goes by its parts",
            place_name(*first) + " to " +
                place_name(*std::prev(std::find_if_not(first, model.segments.end(), is_part))),
            "Name the part that it begins with."};
  return {ProblemCode::bad_input, where,
          "\"" + name + "\" is no layer that can be on a device by itself",
          "as " + place_name(model.segments.front()) + " to " + place_name(model.segments.back()) +
              ": an activation and a flatten go with the layer before them",
          "Name a layer by its number, or of a block as 1.4."};
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
          {ProblemCode::bad_input, at_place(i, "rank"),
           "there is no " + who(strategy) + " " + format_count(places[i].rank),
           "0 to " + format_count(ranks - 1) + (calls ? ", of which 0 is the trainers" : ""),
           mesh ? "Name a stage of the mesh." : "Name a " + who(strategy) + " that is drawn."});
    if (segment < 0) problems.push_back(unknown_segment(model, i, places[i].segment));
    if (segment < 0) continue;
    if (i == 0 && segment != 0)
      problems.push_back({ProblemCode::bad_input, at_place(i, "segment"),
                          "layers before " + places[i].segment + " are on no device",
                          place_name(model.segments.front()),
                          "Let the first place begin with the first layer."});
    if (segment <= before)
      problems.push_back({ProblemCode::bad_input, at_place(i, "segment"),
                          places[i].segment + " does not come after " +
                              place_name(model.segments[static_cast<std::size_t>(before)]),
                          "a later layer", "Name places in the order of the layers."});
    before = std::max(before, segment);
  }
  return problems;
}

// Explains why a tied layer and its table must be on one stage.
std::string why_together(const StrategySpec& strategy) {
  if (updates_each_micro_batch(strategy))
    return ": what both learn would have to be summed before every update, and pipedream waits for "
           "nobody";
  if (strategy.kind == StrategyKind::rpc) return "";
  return ": replicas that shard (strategy.mesh.shards_data) would share the table out in each of "
         "the two stages otherwise";
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
  const std::string why = bound ? "the last layer is tied to the first, and stays with it" +
                                      why_together(experiment.strategy)
                          : interleaves
                              ? "the places give them otherwise"
                              : "a " + one + " has layers before and after those of others";
  const std::string name(base::name_of(schedule));
  return {{ProblemCode::bad_input, "strategy.stages.schedule",
           name +
               (interleaves ? " gives the " + one + "s equally many runs of layers, in turn; but "
                            : " gives each " + one + " one run of layers; but ") +
               why,
           bound && schedule == PipelineSchedule::pipedream
               ? "naive, gpipe, 1f1b, interleaved_1f1b, zb_h1"
               : "naive, gpipe",
           bound ? "Untie the last layer, or take another schedule."
                 : "Place the layers so, or take another schedule."}};
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
      return {{ProblemCode::bad_input, kPlaces, one + " " + format_count(rank) + " has no layer",
               "a layer for each of the " + format_count(ranks - first) + " " + one + "s",
               experiment.strategy.kind == StrategyKind::hybrid
                   ? "Give it a layer, or lower strategy.mesh.pipeline."
                   : "Give it a layer, or set the role of its device to idle."}};
  for (std::size_t s = 0; s < owners.size(); ++s)
    if (const int tied = model.segments[s].tied_to;
        tied >= 0 && owners[static_cast<std::size_t>(tied)] != owners[s] &&
        !may_span_stages(experiment.strategy))
      return {{ProblemCode::bad_input, kPlaces,
               model.segments[s].name + " uses the weight of layer " +
                   place_name(model.segments[static_cast<std::size_t>(tied)]) +
                   ", which is on another " + one + why_together(experiment.strategy),
               "both on one " + one, "Put both on one " + one + ", or untie them."}};
  return problems_of_schedule(experiment, model, owners, ranks);
}

// Problems if there are too few segments.
Problems too_many_stages(const StrategySpec& strategy, std::int64_t ranks,
                         const model::Model& model) {
  const bool bound = model.ties() && !may_span_stages(strategy);
  const std::int64_t most = std::ssize(model.segments) - (bound ? 1 : 0);
  const bool interleaves = schedule_of(strategy) == PipelineSchedule::interleaved_1f1b &&
                           strategy.stages.partition != Partition::by_hand;
  const bool mesh = strategy.kind == StrategyKind::hybrid;
  const std::string all = format_count(ranks) + " " + who(strategy) + "s";
  if (interleaves && ranks <= most && most / ranks < 2)
    return {{ProblemCode::bad_input, "strategy.stages.schedule",
             "interleaved_1f1b gives each of " + all +
                 " two runs of layers at least, and the model can be cut into " +
                 format_count(most),
             "naive, gpipe, 1f1b, zb_h1", "Take another schedule, or a deeper model."}};
  if (interleaves && ranks <= most && strategy.stages.chunks > most / ranks)
    return {{ProblemCode::bad_input, "strategy.stages.chunks",
             format_count(strategy.stages.chunks) + " stages on each of " + all +
                 " are more than the " + format_count(most) +
                 " layers that the model can be cut into",
             "at most " + format_count(most / ranks),
             "Lower it, take another schedule, or a deeper model."}};
  if (ranks <= most) return {};
  return {{ProblemCode::bad_input, mesh ? "strategy.mesh.pipeline" : "topology.hosts",
           all + " are more than the " + format_count(most) + (most == 1 ? " layer" : " layers") +
               " that the model can be cut into" +
               (bound ? ", its last one tied to its first" : ""),
           "at most " + format_count(most) + " " + who(strategy) + (most == 1 ? "" : "s"),
           mesh ? "Lower it, or take a deeper model."
                : "Set the role of some devices to idle, or take a deeper model."}};
}

}  // namespace

Problems split_problems(const Experiment& experiment) {
  if (!splits_model(experiment.strategy.kind)) return {};
  const std::string kind(base::name_of(experiment.strategy.kind));
  Problems problems;
  const bool once_a_step = experiment.strategy.kind == StrategyKind::model_parallel ||
                           experiment.strategy.kind == StrategyKind::rpc;
  if (once_a_step && experiment.strategy.stages.schedule == PipelineSchedule::pipedream)
    problems.push_back({ProblemCode::bad_input, "strategy.stages.schedule",
                        "pipedream updates after every micro-batch, and " + kind +
                            " takes one after the other and updates once a step",
                        "naive, gpipe, 1f1b, interleaved_1f1b, zb_h1: the same here",
                        "Take another schedule, or the strategy pipeline."});
  if (updates_each_micro_batch(experiment.strategy) && experiment.training.needs_gradient_norm())
    problems.push_back(
        {ProblemCode::bad_input,
         experiment.training.clip_norm > 0 ? "training.clip_norm" : "training.non_finite",
         "a stage of pipedream updates as soon as it has its own gradient, and nobody sees the "
         "whole",
         experiment.training.clip_norm > 0 ? "0" : "go_on, stop",
         "Do without, or take another schedule, as strategy.stages.schedule=1f1b."});
  const std::int64_t stages = mesh_of(experiment).pipeline,
                     micro_batches = experiment.training.accumulation_steps;
  if (schedule_of(experiment.strategy) == PipelineSchedule::interleaved_1f1b && stages > 0 &&
      micro_batches % stages != 0)
    problems.push_back({ProblemCode::bad_input, "training.accumulation_steps",
                        "interleaved_1f1b sends micro-batches through the " + format_count(stages) +
                            " " + who(experiment.strategy) + "s in groups of as many, and " +
                            format_count(micro_batches) + " cannot be grouped so",
                        "a multiple of " + format_count(stages),
                        "Take another number of micro-batches, or strategy.stages.schedule=1f1b."});
  if (experiment.data.sharding.kind != data::ShardingKind::iid)
    problems.push_back(
        {ProblemCode::bad_input, "data.sharding.kind",
         "in " + kind + " " +
             (calls_of(experiment.strategy) == model::RemoteCalls::none
                  ? "every sample passes all ranks, so nobody owns any"
                  : "trainers are dealt the samples of every step alike, so nobody owns any"),
         "iid", "Set it to iid."});
  if (has_stages(experiment.strategy.kind) &&
      experiment.strategy.stages.partition == Partition::by_hand &&
      experiment.strategy.stages.places.empty())
    problems.push_back({ProblemCode::bad_input, kPlaces, "no layer is on any device",
                        "a place for the first layer at least",
                        "Say from which layer on which " + who(experiment.strategy) +
                            " has them, or set strategy.stages.partition to cost."});
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
