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
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

using experiment::Shard;
using experiment::StrategyKind;

QString holder_text(const char* source) { return QCoreApplication::translate("who_keeps", source); }

QString of_shards(const experiment::FsdpSpec& fsdp) {
  const QString part = fsdp.group == experiment::ShardGroup::host
                           ? holder_text("a shard (sharded over the devices of its host)")
                           : holder_text("a shard (1/n)");
  switch (fsdp.shard) {
    case Shard::full:
      return holder_text(
                 "Every device computes all layers and stores %1 of parameters, gradients and "
                 "moments; each layer gathers its full parameters before it computes.")
          .arg(part);
    case Shard::gradients:
      return holder_text("Every device stores the full parameters and %1 of gradients and moments.")
          .arg(part);
    case Shard::optimizer:
      return holder_text(
                 "Every device stores the full parameters and gradients and %1 of the moments.")
          .arg(part);
  }
  return {};
}

// Describes how the layers of a replica are assigned to devices.
QString replica_assignment_text(const experiment::Mesh& mesh) {
  if (mesh.pipeline > 1 && mesh.tensor > 1)
    return holder_text(
        "each stage holds some of the layers, and each of its devices a shard of the layers that "
        "can be split.");
  if (mesh.pipeline > 1)
    return holder_text("each stage is one device and holds some of the layers.");
  return mesh.tensor > 1 ? holder_text(
                               "each device holds a shard of the layers that can be split, and the "
                               "full other layers.")
                         : holder_text("one device holds all layers.");
}

QString of_mesh(const experiment::StrategySpec& strategy, const experiment::Mesh& mesh) {
  const QString places =
      (mesh.data > 1 ? holder_text("In every replica %1") : holder_text("There is one replica: %1"))
          .arg(replica_assignment_text(mesh));
  if (!strategy.mesh.shards_data || mesh.data == 1) return places;
  switch (strategy.fsdp.shard) {
    case Shard::full:
      return holder_text(
                 "%1 Each replica stores only a shard of parameters, gradients and moments; a "
                 "stage gathers its full parameters before it computes.")
          .arg(places);
    case Shard::gradients:
      return holder_text("%1 Each replica stores only a shard of gradients and moments.")
          .arg(places);
    case Shard::optimizer:
      return holder_text("%1 Each replica stores only a shard of the moments.").arg(places);
  }
  return places;
}

QString of_several(const experiment::Experiment& e) {
  switch (e.strategy.kind) {
    case StrategyKind::one_device: return holder_text("One device holds all layers.");
    case StrategyKind::mirrored:
    case StrategyKind::multi_worker_mirrored:
    case StrategyKind::tpu:
    case StrategyKind::ddp:
      return holder_text("Every device holds all layers, with the same parameters on all devices.");
    case StrategyKind::gossip:
    case StrategyKind::local_sgd:
      return holder_text("Every device holds all layers, with local parameters.");
    case StrategyKind::central_storage:
      return holder_text(
                 "Only rank %1 stores the parameters; all other devices compute all layers with "
                 "the parameters that it sends.")
          .arg(experiment::storage_rank(e));
    case StrategyKind::data_parallel:
      return holder_text(
          "Only rank 0 stores the parameters; every device computes all layers with a copy from "
          "rank 0.");
    case StrategyKind::parameter_server:
      return holder_text(
          "Servers store the parameters; every worker computes all layers with the parameters that "
          "it pulls.");
    case StrategyKind::fsdp: return of_shards(e.strategy.fsdp);
    case StrategyKind::model_parallel:
    case StrategyKind::pipeline: return holder_text("Each device holds some of the layers.");
    case StrategyKind::tensor_parallel:
      return holder_text(
          "Every device holds a shard (rows or columns) of each layer that can be split.");
    case StrategyKind::hybrid: return of_mesh(e.strategy, experiment::mesh_of(e));
    case StrategyKind::rpc:
      return e.strategy.rpc.remote == experiment::RemoteLayers::all
                 ? holder_text(
                       "Parameter servers hold all layers with parameters; trainers call them and "
                       "compute the loss.")
                 : holder_text(
                       "Parameter servers hold the embedding tables, which trainers call; every "
                       "trainer has a replica of the other layers.");
  }
  return {};
}

std::vector<std::vector<int>> holders_on_servers(const experiment::Resolved& e) {
  std::vector<std::vector<int>> holders(e.model.segments.size());
  const auto shares = experiment::shares_of_servers(e);
  for (std::size_t s = 0; s < holders.size(); ++s) {
    const model::Segment& segment = e.model.owner(e.model.segments[s]);
    for (const experiment::Share& share : shares) {
      const bool holds = share.first < segment.first + segment.elements &&
                         segment.first < share.first + share.count;
      const int rank = e.workers() + share.server;
      if (holds && std::ranges::find(holders[s], rank) == holders[s].end())
        holders[s].push_back(rank);
    }
    std::ranges::sort(holders[s]);
  }
  return holders;
}

// Returns the pipeline stage of each segment in a device mesh. In a mesh with one stage, the stage
// is 0 for all segments.
std::vector<int> stages_in_mesh(const experiment::Resolved& e) {
  return experiment::has_stages(e.document.strategy.kind)
             ? experiment::owners_of(e)
             : std::vector<int>(e.model.segments.size(), 0);
}

// Returns, for each segment, the ranks of its stage that hold it. With the strategy hybrid, these
// are all ranks of the stage. With tensor_parallel, replicated parameters have no entry, because
// every rank that uses them holds them.
std::vector<std::vector<int>> holders_in_mesh(const experiment::Resolved& e) {
  std::vector<std::vector<int>> holders(e.model.segments.size());
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const std::vector<int> stages = stages_in_mesh(e);
  const auto splits = layer_splits(e);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const bool learns = e.model.owner(e.model.segments[s]).elements > 0,
               to_numerator = !splits[s].parts.empty();
    if (e.document.strategy.kind == StrategyKind::tensor_parallel
            ? to_numerator
            : learns || e.document.strategy.kind == StrategyKind::hybrid)
      holders[s] = mesh.stage(stages[s]);
  }
  return holders;
}

}  // namespace

QString assignment_text(const experiment::Experiment& e) {
  const bool servers =
      experiment::has_servers(e.strategy.kind) || e.strategy.kind == StrategyKind::rpc;
  QString text = experiment::count_workers(e.topology) == 1 && !servers
                     ? holder_text("One device holds all layers.")
                     : of_several(e);
  if (!data::owns_columns(e.data.sharding) || experiment::count_workers(e.topology) < 2)
    return text;
  return text + " " +
         holder_text(
             "Each device computes the part of the first layer that depends on its local sample "
             "columns.");
}

std::vector<std::vector<int>> parameter_ranks(const experiment::Resolved& e) {
  const StrategyKind kind = e.document.strategy.kind;
  if (kind == StrategyKind::tensor_parallel) return holders_in_mesh(e);
  if (experiment::has_servers(kind)) return holders_on_servers(e);
  if (kind == StrategyKind::hybrid || kind == StrategyKind::rpc) return holders_in_mesh(e);
  std::vector<std::vector<int>> holders(e.model.segments.size());
  const int holder = kind == StrategyKind::central_storage                  ? e.storage_rank
                     : kind == StrategyKind::data_parallel && e.world() > 1 ? 0
                                                                            : experiment::kNoRank;
  for (std::size_t s = 0; s < holders.size() && holder != experiment::kNoRank; ++s)
    if (e.model.owner(e.model.segments[s]).elements > 0) holders[s] = {holder};
  return holders;
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
