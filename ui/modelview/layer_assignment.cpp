// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/layer_assignment.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"
#include "core/model/split.h"
#include "ui/model/topology_words.h"

namespace trainyard::ui {
namespace {

using experiment::Shard;
using experiment::StrategyKind;

QString keeper_text(const char* source) { return QCoreApplication::translate("who_keeps", source); }

QString of_shards(const experiment::FsdpSpec& fsdp) {
  const QString part = fsdp.group == experiment::ShardGroup::host
                           ? keeper_text("its part, shared out among the devices of its host,")
                           : keeper_text("its part, one n-th,");
  switch (fsdp.shard) {
    case Shard::full:
      return keeper_text(
                 "Every device computes all layers, and keeps %1 of parameters, gradients and "
                 "moments; the other parameters are gathered when a layer "
                 "computes.")
          .arg(part);
    case Shard::gradients:
      return keeper_text("Every device has all parameters, and keeps %1 of gradients and moments.")
          .arg(part);
    case Shard::optimizer:
      return keeper_text(
                 "Every device has all parameters and gradients, and keeps %1 of the moments.")
          .arg(part);
  }
  return {};
}

// Describes the assignment within a replica.
QString replica_assignment_text(const experiment::Mesh& mesh) {
  if (mesh.pipeline > 1 && mesh.tensor > 1)
    return keeper_text(
        "each stage has some layers, and each of its devices a part of those that can be cut.");
  if (mesh.pipeline > 1) return keeper_text("each stage is one device, and has some layers.");
  return mesh.tensor > 1
             ? keeper_text(
                   "each device has a part of those layers that can be cut, and all others.")
             : keeper_text("one device has all layers.");
}

QString of_mesh(const experiment::StrategySpec& strategy, const experiment::Mesh& mesh) {
  const QString places =
      (mesh.data > 1 ? keeper_text("In every replica %1") : keeper_text("There is one replica: %1"))
          .arg(replica_assignment_text(mesh));
  if (!strategy.mesh.shards_data || mesh.data == 1) return places;
  switch (strategy.fsdp.shard) {
    case Shard::full:
      return keeper_text(
                 "%1 Of parameters, gradients and moments a replica keeps but its part; the other "
                 "parameters are gathered when a stage computes.")
          .arg(places);
    case Shard::gradients:
      return keeper_text("%1 Of gradients and moments a replica keeps but its part.").arg(places);
    case Shard::optimizer:
      return keeper_text("%1 Of moments a replica keeps but its part.").arg(places);
  }
  return places;
}

QString of_several(const experiment::Experiment& e) {
  switch (e.strategy.kind) {
    case StrategyKind::one_device: return keeper_text("One device has all layers.");
    case StrategyKind::mirrored:
    case StrategyKind::multi_worker_mirrored:
    case StrategyKind::tpu:
    case StrategyKind::ddp:
      return keeper_text("Every device has all layers, with the same parameters as all others.");
    case StrategyKind::gossip:
    case StrategyKind::local_sgd:
      return keeper_text("Every device has all layers, with parameters of its own.");
    case StrategyKind::central_storage:
      return keeper_text(
                 "Rank %1 alone keeps the parameters; all other devices compute all layers by what "
                 "it sends them.")
          .arg(experiment::storage_rank(e));
    case StrategyKind::data_parallel:
      return keeper_text(
          "Rank 0 alone keeps the parameters; every device computes all layers by what it hands "
          "out.");
    case StrategyKind::parameter_server:
      return keeper_text(
          "Servers keep the parameters; every worker computes all layers by what it pulls.");
    case StrategyKind::fsdp: return of_shards(e.strategy.fsdp);
    case StrategyKind::model_parallel:
    case StrategyKind::pipeline: return keeper_text("Every device has some layers.");
    case StrategyKind::tensor_parallel:
      return keeper_text(
          "Every device has a part of every layer that can be cut: some of its rows or columns.");
    case StrategyKind::hybrid: return of_mesh(e.strategy, experiment::mesh_of(e));
    case StrategyKind::rpc:
      return e.strategy.rpc.remote == experiment::RemoteLayers::all
                 ? keeper_text(
                       "Parameter servers have all layers that learn; trainers call them, and know "
                       "the loss.")
                 : keeper_text(
                       "Parameter servers have the tables, which trainers call; of the other "
                       "layers every trainer has a replica.");
  }
  return {};
}

std::vector<std::vector<int>> keepers_on_servers(const experiment::Resolved& e) {
  std::vector<std::vector<int>> keepers(e.model.segments.size());
  const auto shares = experiment::shares_of_servers(e);
  for (std::size_t s = 0; s < keepers.size(); ++s) {
    const model::Segment& segment = e.model.owner(e.model.segments[s]);
    for (const experiment::Share& share : shares) {
      const bool holds = share.first < segment.first + segment.elements &&
                         segment.first < share.first + share.count;
      const int rank = e.workers() + share.server;
      if (holds && std::ranges::find(keepers[s], rank) == keepers[s].end())
        keepers[s].push_back(rank);
    }
    std::ranges::sort(keepers[s]);
  }
  return keepers;
}

// Returns the stage of each segment; 0 for a mesh with one stage.
std::vector<int> stages_in_mesh(const experiment::Resolved& e) {
  return experiment::has_stages(e.document.strategy.kind)
             ? experiment::owners_of(e)
             : std::vector<int>(e.model.segments.size(), 0);
}

// Returns all ranks of a segment's stage, which in hybrid hold the layer. In tensor_parallel,
// replicated parameters are omitted, since they are on the ranks that use them.
std::vector<std::vector<int>> keepers_in_mesh(const experiment::Resolved& e) {
  std::vector<std::vector<int>> keepers(e.model.segments.size());
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const std::vector<int> stages = stages_in_mesh(e);
  const auto splits = layer_splits(e);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const bool learns = e.model.owner(e.model.segments[s]).elements > 0,
               to_numerator = !splits[s].parts.empty();
    if (e.document.strategy.kind == StrategyKind::tensor_parallel
            ? to_numerator
            : learns || e.document.strategy.kind == StrategyKind::hybrid)
      keepers[s] = mesh.stage(stages[s]);
  }
  return keepers;
}

}  // namespace

QString assignment_text(const experiment::Experiment& e) {
  const bool servers =
      experiment::has_servers(e.strategy.kind) || e.strategy.kind == StrategyKind::rpc;
  QString said = experiment::count_workers(e.topology) == 1 && !servers
                     ? keeper_text("One device has all layers.")
                     : of_several(e);
  if (!data::owns_columns(e.data.sharding) || experiment::count_workers(e.topology) < 2)
    return said;
  return said + " " +
         keeper_text(
             "Of the first layer each computes what comes of its own columns of the samples.");
}

std::vector<std::vector<int>> parameter_ranks(const experiment::Resolved& e) {
  const StrategyKind kind = e.document.strategy.kind;
  if (kind == StrategyKind::tensor_parallel) return keepers_in_mesh(e);
  if (experiment::has_servers(kind)) return keepers_on_servers(e);
  if (kind == StrategyKind::hybrid || kind == StrategyKind::rpc) return keepers_in_mesh(e);
  std::vector<std::vector<int>> keepers(e.model.segments.size());
  const int keeper = kind == StrategyKind::central_storage                  ? e.storage_rank
                     : kind == StrategyKind::data_parallel && e.world() > 1 ? 0
                                                                            : experiment::kNobody;
  for (std::size_t s = 0; s < keepers.size() && keeper != experiment::kNobody; ++s)
    if (e.model.owner(e.model.segments[s]).elements > 0) keepers[s] = {keeper};
  return keepers;
}

std::vector<LayerSplit> layer_splits(const experiment::Resolved& e) {
  std::vector<LayerSplit> splits(e.model.segments.size());
  if (!experiment::splits_model(e.document.strategy.kind) || !experiment::splits_layers(e))
    return splits;
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const std::vector<int> stages = stages_in_mesh(e);
  for (int part = 0; part < mesh.tensor; ++part) {
    const model::Model own = model::split_of(e.model, mesh.tensor, part);
    for (std::size_t s = 0; s < splits.size(); ++s) {
      const model::Segment& segment = own.segments[s];
      if (segment.split == model::Split::none) continue;
      const std::int64_t count = model::split_count(own, static_cast<int>(s));
      splits[s].by = segment.split;
      splits[s].of = segment.split_of;
      splits[s].is_qkv = segment.split == model::Split::outputs && segment.channels() > count;
      splits[s].parts.push_back(
          {segment.split_first, count, mesh.replicas_of(mesh.rank_of({0, stages[s], part}))});
    }
  }
  return splits;
}

}  // namespace trainyard::ui
