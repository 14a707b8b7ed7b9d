// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/ties.h"

#include <algorithm>

#include "core/experiment/mesh.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/stages.h"

namespace trainyard::experiment {
namespace {

// True if the mesh has several replicas that shard the state of their stages.
bool shards_stages(const StrategySpec& strategy) {
  return strategy.kind == StrategyKind::hybrid && strategy.mesh.shards_data &&
         strategy.mesh.data != 1;
}

bool is_tied(const model::ModelSpec& model) {
  return !model.layers.empty() && model.layers[model.output_layer()].tied;
}

}  // namespace

bool may_span_stages(const StrategySpec& strategy) {
  return strategy.kind != StrategyKind::rpc && !shards_stages(strategy) &&
         !updates_each_micro_batch(strategy);
}

std::optional<Tie> split_tie(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  if (!has_stages(strategy.kind) || !may_span_stages(strategy) || !is_tied(experiment.model))
    return std::nullopt;
  const std::vector<StagePlace>& places = strategy.stages.places;
  const Tie tie =
      places.empty() || strategy.stages.partition != Partition::by_hand
          ? Tie{0, mesh_of(experiment).pipeline - 1}
          : Tie{static_cast<int>(places.front().rank), static_cast<int>(places.back().rank)};
  return tie.table == tie.tied ? std::nullopt : std::optional(tie);
}

std::vector<std::vector<int>> tie_groups(const Experiment& experiment) {
  const auto tie = split_tie(experiment);
  const Mesh mesh = mesh_of(experiment);
  std::vector<std::vector<int>> groups;
  if (!tie || std::max(tie->table, tie->tied) >= mesh.pipeline) return groups;
  for (int part = 0; part < mesh.tensor; ++part) {
    std::vector<int>& ranks = groups.emplace_back();
    for (const int stage : {std::min(tie->table, tie->tied), std::max(tie->table, tie->tied)})
      for (int replica = 0; replica < mesh.data; ++replica)
        ranks.push_back(mesh.rank_of({replica, stage, part}));
  }
  return groups;
}

}  // namespace trainyard::experiment
