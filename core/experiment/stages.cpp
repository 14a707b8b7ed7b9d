// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/experiment/cells.h"
#include "core/experiment/fields.h"
#include "core/experiment/measured_partition.h"
#include "core/experiment/mesh.h"
#include "core/experiment/partition.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/rpc.h"
#include "core/experiment/unused_settings.h"
#include "core/model/split.h"

namespace trainyard::experiment {

std::string place_name(const model::Segment& segment) {
  return segment.name.substr(0, segment.name.find(' '));
}

std::int64_t flops_of_sample(const model::Model& model, int segment) {
  const model::Segment& s = model.segments[static_cast<std::size_t>(segment)];
  const std::int64_t back = segment > model.first_with_parameters ? s.backward_input_flops() : 0;
  const std::int64_t weight_gradient = model.owner(s).elements > 0 ? s.backward_weight_flops() : 0;
  return s.forward_flops() + back + weight_gradient;
}

std::vector<int> owners_of(const Resolved& resolved) {
  return owners_by(resolved.document.strategy.stages.places, resolved.model);
}

std::vector<int> owners_by_segment(const Resolved& resolved) {
  return has_stages(resolved.document.strategy.kind)
             ? owners_of(resolved)
             : std::vector<int>(resolved.model.segments.size(), 0);
}

model::StageGraph stage_graph_of(const Resolved& resolved) {
  return {resolved.model, owners_by_segment(resolved), calls_of(resolved.document.strategy)};
}

Resolved of_rank(const Resolved& resolved, int rank) {
  if (!splits_model(resolved.document.strategy.kind)) return resolved;
  const Mesh mesh = mesh_of(resolved);
  const MeshCoordinates at = mesh.place_of(rank);
  Resolved own = resolved;
  if (mesh.tensor > 1) own.model = model::split_of(own.model, mesh.tensor, at.part);
  if (has_stages(resolved.document.strategy.kind))
    own.model = model::part_of(own.model, owners_of(resolved), at.stage);
  return own;
}

std::vector<StagePlace> places_of(const Resolved& resolved) {
  const StageSpec& stages = resolved.document.strategy.stages;
  return stages.partition == Partition::by_hand ? stages.places
                                                : balanced(resolved, stages.partition);
}

PipelineSchedule schedule_of(const StrategySpec& strategy) {
  const bool overlaps = strategy.kind == StrategyKind::pipeline ||
                        (strategy.kind == StrategyKind::hybrid && strategy.mesh.pipeline > 1);
  return overlaps ? strategy.stages.schedule : PipelineSchedule::naive;
}

bool updates_each_micro_batch(const StrategySpec& strategy) {
  return schedule_of(strategy) == PipelineSchedule::pipedream;
}

std::optional<double> ideal_bubble_fraction(const Resolved& resolved) {
  const Experiment& e = resolved.document;
  if (!has_stages(e.strategy.kind) || e.strategy.kind == StrategyKind::rpc) return std::nullopt;
  const std::vector<model::Stage> stages = model::stages_of(owners_of(resolved));
  const PipelineSchedule schedule = schedule_of(e.strategy);
  const bool interleaves = schedule == PipelineSchedule::interleaved_1f1b;
  const int pipeline = mesh_of(resolved).pipeline;
  if (!is_round_robin(stages, pipeline) ||
      (!interleaves && std::cmp_not_equal(stages.size(), pipeline)))
    return std::nullopt;
  const double p = pipeline, m = static_cast<double>(e.training.accumulation_steps),
               v = static_cast<double>(stages.size()) / p;
  switch (schedule) {
    case PipelineSchedule::naive: return (p - 1) / p;
    case PipelineSchedule::zb_h1: return (p - 1) / (3 * m + p - 1);
    default: return (p - 1) / (v * m + p - 1);
  }
}

namespace {

// Returns a text such as "rank 0", "ranks 0 and 1", or "ranks 0 to 3".
std::string ranks_text(int first, int last) {
  if (first == last) return fmt::format("rank {}", first);
  return fmt::format("ranks {} {} {}", first, last - first > 1 ? "to" : "and", last);
}

}  // namespace

std::optional<std::string> stages_line(const Resolved& resolved) {
  if (!has_stages(resolved.document.strategy.kind)) return std::nullopt;
  const Mesh mesh = mesh_of(resolved);
  std::string text;
  for (const model::Stage& stage : model::stages_of(owners_of(resolved))) {
    const auto name = [&](int s) {
      return place_name(resolved.model.segments[static_cast<std::size_t>(s)]);
    };
    const std::vector<int> ranks = mesh.stage(stage.rank);
    text += fmt::format("{}{} {} {} {}", text.empty() ? "" : ", ",
                        ranks_text(ranks.front(), ranks.back()), ranks.size() > 1 ? "have" : "has",
                        stage.first == stage.last ? "layer" : "layers", name(stage.first));
    if (stage.last > stage.first) text += fmt::format(" to {}", name(stage.last));
  }
  if (mesh.calls)
    text += fmt::format("; {} {} the layers of the other ranks", ranks_text(0, mesh.data - 1),
                        mesh.data > 1 ? "call" : "calls");
  text += segment_times_text(resolved);
  for (const std::string& note : unused_stage_settings(resolved)) text += "; " + note;
  return text;
}

}  // namespace trainyard::experiment
