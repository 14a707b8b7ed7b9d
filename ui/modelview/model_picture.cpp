// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_picture.h"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <utility>

#include "core/base/json.h"
#include "core/experiment/buckets.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/precision.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/rpc.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/ties.h"
#include "core/experiment/validation_result.h"
#include "core/model/layers.h"
#include "ui/model/document/display_problems.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

using experiment::Experiment;
using experiment::Resolved;

QString picture_text(const char* source) {
  return QCoreApplication::translate("model_picture", source);
}

// Result of resolving an experiment: the parts that could be resolved, and the problems of the
// other parts.
struct Known {
  // The resolved parts: at least document, data and model; all parts if `problems` is empty.
  Resolved resolved;
  base::Problems problems;
  bool is_valid() const { return problems.empty(); }
};

bool is_at(const base::Problem& problem, std::initializer_list<const char*> places) {
  return std::ranges::any_of(places,
                             [&](const char* place) { return problem.where.starts_with(place); });
}

base::Problem displayed(const Experiment& experiment, const base::Problem& found) {
  return display_problems(experiment, {found}).front().displayed;
}

// Returns the parts of the experiment that could be resolved. If these do not include the model,
// returns the reason.
base::Result<Known> look_at(const Experiment& experiment, const std::filesystem::path& directory) {
  if (auto resolved = experiment::resolve(experiment, directory))
    return Known{std::move(*resolved), {}};
  experiment::Findings findings = experiment::examine(experiment, directory);
  for (const base::Problem& problem : findings.problems)
    if (is_at(problem, {"model", "data.", "data:"}) &&
        !is_at(problem, {"data.sharding", "data.train_samples"}))
      return base::fail(problem);
  if (!findings.data) return base::fail(findings.problems.front());
  return model::build(experiment.model, experiment::sample_shape(*findings.data),
                      findings.data->classes)
      .map([&](model::Model model) {
        Known known{{}, std::move(findings.problems)};
        known.resolved.document = experiment;
        known.resolved.data = *findings.data;
        known.resolved.model = std::move(model);
        const std::int64_t called = experiment.strategy.kind == experiment::StrategyKind::rpc
                                        ? experiment::count_servers(experiment.topology)
                                        : 0;
        known.resolved.ranks.resize(
            static_cast<std::size_t>(experiment::count_workers(experiment.topology) + called));
        return known;
      });
}

ModelNode node_of(const Resolved& e, int number) {
  const model::Segment& s = e.model.segments[static_cast<std::size_t>(number)];
  const std::int64_t width = base::size_of(experiment::gradient_dtype(e));
  ModelNode node;
  node.place = as_text(experiment::place_name(s));
  node.name = as_text(s.name);
  node.output = as_text(model::to_text(s.output_shape));
  node.parameters = s.elements;
  node.parameter_bytes = width * s.elements;
  node.activation_bytes = base::size_of(experiment::activation_dtype(e)) * s.outputs *
                          e.document.training.batch_per_rank;
  node.forward_flops = s.forward_flops();
  node.backward_flops = experiment::flops_of_sample(e.model, number) - node.forward_flops;
  node.tied_to = s.tied_to;
  node.addend = s.addend;
  node.reads_samples = s.looks_up() && number > 0;
  return node;
}

// Adds a group for each block of a transformer. The nodes of a block are consecutive, and all
// blocks have the same number of nodes.
void add_blocks(ModelPicture& picture, int layer, const model::LayerSpec& spec, int first,
                int last) {
  const int parts = (last - first + 1) / static_cast<int>(spec.blocks);
  for (int block = 0; block < static_cast<int>(spec.blocks); ++block) {
    ModelGroup group{picture_text("%1 transformer, block %2").arg(layer).arg(block),
                     first + block * parts, first + (block + 1) * parts - 1};
    for (int n = group.first; n <= group.last; ++n) {
      ModelNode& node = picture.nodes[static_cast<std::size_t>(n)];
      node.group = static_cast<int>(picture.groups.size());
      group.parameters += node.parameters;
      group.share += node.share;
    }
    picture.groups.push_back(std::move(group));
  }
}

void add_groups(ModelPicture& picture, const Resolved& e) {
  const auto& segments = e.model.segments;
  for (std::size_t first = 0; first < segments.size();) {
    std::size_t end = first + 1;
    while (end < segments.size() && segments[end].layer == segments[first].layer) ++end;
    const int layer = segments[first].layer;
    const model::LayerSpec& spec = e.document.model.layers[static_cast<std::size_t>(layer)];
    if (model::is_transformer(spec))
      add_blocks(picture, layer, spec, static_cast<int>(first), static_cast<int>(end) - 1);
    first = end;
  }
}

void add_nodes(ModelPicture& picture, const Resolved& e) {
  picture.layers = static_cast<int>(e.document.model.layers.size());
  for (int n = 0; n < static_cast<int>(e.model.segments.size()); ++n)
    picture.nodes.push_back(node_of(e, n));
  for (const ModelNode& node : picture.nodes) {
    picture.parameters += node.parameters;
    picture.parameter_bytes += node.parameter_bytes;
    picture.activation_bytes += node.activation_bytes;
    picture.flops += node.flops();
  }
  for (ModelNode& node : picture.nodes)
    node.share = static_cast<double>(node.flops()) /
                 static_cast<double>(std::max<std::int64_t>(picture.flops, 1));
}

// True if layers can be balanced. This needs valid fields, a worker and, with rpc, a server. The
// pipeline schedule need not support the current places of layers.
bool can_balance(const Known& known) {
  const bool sound = std::ranges::all_of(known.problems, [](const base::Problem& problem) {
    return is_at(problem, {"strategy.stages", "topology.hosts"});
  });
  const Experiment& e = known.resolved.document;
  const bool served =
      e.strategy.kind != experiment::StrategyKind::rpc || experiment::count_servers(e.topology) > 0;
  return sound && served && experiment::count_workers(e.topology) > 0 &&
         experiment::from_json(experiment::to_json(e)).has_value();
}

std::vector<experiment::StagePlace> places_in(const Known& known) {
  const experiment::StageSpec& stages = known.resolved.document.strategy.stages;
  if (known.is_valid() || stages.partition == experiment::Partition::by_hand) return stages.places;
  return can_balance(known) ? experiment::places_of(known.resolved)
                            : std::vector<experiment::StagePlace>{};
}

// Returns, for each node, the index of the worker or server to which the entries of `places` assign
// it, even if that device is not drawn; -1 if no entry applies to the node.
std::vector<int> places_by_node(const std::vector<experiment::StagePlace>& places,
                                const ModelPicture& picture) {
  std::vector<int> ranks(picture.nodes.size(), -1);
  for (const experiment::StagePlace& place : places)
    if (const int node = picture.node_at(as_text(place.segment)); node >= 0)
      std::fill(ranks.begin() + node, ranks.end(), static_cast<int>(place.rank));
  return ranks;
}

template <class Wanted>
QStringList matching_devices(const topology::Topology& topology, const Wanted& wanted) {
  QStringList names;
  for (const topology::Host& host : topology.hosts)
    for (const topology::Device& device : host.devices)
      if (wanted(device)) names << as_text(device.name);
  return names;
}

QStringList workers_of(const topology::Topology& topology) {
  return matching_devices(topology, topology::works);
}

// Returns the columns for the strategy hybrid, one per stage. The devices of a stage hold shards or
// replicas of the stage's layers.
std::vector<ModelColumn> stages_of_mesh(const Experiment& experiment) {
  const QStringList workers = workers_of(experiment.topology);
  const experiment::Mesh mesh = experiment::mesh_of(experiment);
  std::vector<ModelColumn> columns;
  for (int stage = 0; stage < mesh.pipeline; ++stage) {
    ModelColumn& column = columns.emplace_back(
        ModelColumn{.title = picture_text("Stage %1").arg(stage), .devices = {}, .place = stage});
    for (const int rank : mesh.stage(stage))
      if (rank < workers.size()) column.devices << workers[rank];
  }
  return columns;
}

// Returns the columns in the order of the indices in strategy.stages.places: the stages of a mesh,
// or the workers and then the servers. With rpc, all trainers share one column.
std::vector<ModelColumn> columns_of(const Experiment& experiment) {
  if (experiment.strategy.kind == experiment::StrategyKind::hybrid)
    return stages_of_mesh(experiment);
  const bool calls = experiment.strategy.kind == experiment::StrategyKind::rpc;
  const QStringList workers = workers_of(experiment.topology);
  std::vector<ModelColumn> columns;
  int rank = 0;
  const auto add = [&](const QString& device) {
    columns.push_back({.rank = rank++,
                       .title = device,
                       .devices = {device},
                       .place = static_cast<int>(columns.size())});
  };
  if (calls && workers.size() != 1)
    columns.push_back({.title = picture_text("All trainers"), .devices = workers, .place = 0}),
        rank = static_cast<int>(workers.size());
  else std::ranges::for_each(workers, add);
  const auto serves = [](const topology::Device& device) {
    return device.role == topology::Role::parameter_server;
  };
  if (calls) std::ranges::for_each(matching_devices(experiment.topology, serves), add);
  return columns;
}

// Marks the nodes that, with the strategy rpc, must be on a server or must be on the trainers.
void add_constraints(ModelPicture& picture, const Resolved& e) {
  if (e.document.strategy.kind != experiment::StrategyKind::rpc) return;
  std::vector<int> places;
  places.reserve(static_cast<std::size_t>(picture.count()));
  for (int n = 0; n < picture.count(); ++n)
    places.push_back(experiment::is_remote(e.document.strategy.rpc, e.model, n) ? 1 : 0);
  for (std::size_t n = 0; n < places.size(); ++n) {
    ModelNode& node = picture.nodes[n];
    node.called = places[n] > 0;
    std::vector<int> elsewhere = places;
    elsewhere[n] = 1 - places[n];
    if (const auto problems = experiment::remote_place_problems(e.document, e.model, elsewhere);
        !problems.empty())
      node.bound = displayed(e.document, problems.front());
  }
}

void add_devices(ModelPicture& picture, const Known& known) {
  picture.columns = columns_of(known.resolved.document);
  add_constraints(picture, known.resolved);
  const int drawn = static_cast<int>(picture.columns.size());
  std::vector<int> owners = places_by_node(places_in(known), picture);
  const auto placed = [drawn](int place) { return place >= 0 && place < drawn; };
  if (!std::ranges::all_of(owners, placed))
    picture.columns.push_back({.title = picture_text("No device"), .devices = {}});
  for (int& owner : owners)
    if (!placed(owner)) owner = drawn;
  picture = with_owners(std::move(picture), std::move(owners));
  for (const base::Problem& problem : known.problems)
    if (!picture.misplaced &&
        is_at(problem, {"strategy.stages", "strategy.mesh", "strategy.rpc", "topology.hosts"}))
      picture.misplaced = displayed(known.resolved.document, problem);
}

void add_holders(ModelPicture& picture, const Resolved& e) {
  const auto holders = parameter_ranks(e);
  const auto splits = layer_splits(e);
  for (std::size_t n = 0; n < holders.size(); ++n)
    picture.nodes[n].holders = holders[n], picture.nodes[n].split = splits[n];
}

QString title_of_all(const Experiment& experiment, qsizetype workers) {
  if (workers == 0) return picture_text("No device");
  if (experiment.strategy.kind == experiment::StrategyKind::hybrid)
    return picture_text("All devices");
  return experiment::has_servers(experiment.strategy.kind) ? picture_text("Every worker")
                                                           : picture_text("Every device");
}

void add_all_alike(ModelPicture& picture, const Known& known) {
  const QStringList workers = workers_of(known.resolved.document.topology);
  ModelColumn all{-1,
                  title_of_all(known.resolved.document, workers.size()),
                  {},
                  picture.parameter_bytes,
                  picture.activation_bytes,
                  1};
  if (workers.size() == 1) all.rank = 0, all.title = workers.front(), all.devices = workers;
  picture.columns.push_back(std::move(all));
  picture.owners.assign(picture.nodes.size(), 0);
  picture.kept = workers.empty() ? picture_text("The drawing has no device for the layers.")
                                 : assignment_text(known.resolved.document);
  if (known.is_valid()) add_holders(picture, known.resolved);
}

// Returns how layers are balanced, for example "balanced by compute cost".
QString balance_text(const experiment::StageSpec& stages) {
  switch (stages.partition) {
    case experiment::Partition::cost: return picture_text("balanced by compute cost");
    case experiment::Partition::memory: return picture_text("balanced by memory");
    case experiment::Partition::measured:
      return stages.times.empty()
                 ? picture_text(
                       "balanced by compute cost until a run on this machine has measured layer "
                       "times")
                 : picture_text("balanced by layer times measured on this machine");
    case experiment::Partition::by_hand: break;
  }
  return picture_text("placed by hand");
}

QString stage_owner_text(const Experiment& experiment) {
  const QString by = balance_text(experiment.strategy.stages);
  switch (experiment.strategy.kind) {
    case experiment::StrategyKind::rpc: return assignment_text(experiment);
    case experiment::StrategyKind::hybrid:
      return picture_text("%1 Layers are %2.").arg(assignment_text(experiment), by);
    default: return picture_text("Each device holds some of the layers, %1.").arg(by);
  }
}

bool has_columns(const experiment::StrategySpec& strategy) {
  return experiment::has_stages(strategy.kind) &&
         (strategy.kind != experiment::StrategyKind::hybrid || strategy.mesh.pipeline > 1);
}

}  // namespace

int ModelPicture::node_at(const QString& place) const {
  const auto at = std::ranges::find(nodes, place, &ModelNode::place);
  return at == nodes.end() ? -1 : static_cast<int>(at - nodes.begin());
}

ModelPicture model_picture(const Experiment& experiment, const std::filesystem::path& directory) {
  ModelPicture picture;
  picture.strategy = as_text(std::string(base::name_of(experiment.strategy.kind)));
  const auto known = look_at(experiment, directory);
  if (!known) {
    picture.problem = displayed(experiment, known.error());
    return picture;
  }
  const Resolved& e = known->resolved;
  picture.batch = experiment.training.batch_per_rank;
  picture.input = as_text(model::to_text(experiment::sample_shape(e.data)));
  picture.loss = picture_text("softmax cross-entropy over %1 classes").arg(e.data.classes);
  picture.splits = has_columns(experiment.strategy);
  picture.ties_may_split = experiment::may_span_stages(experiment.strategy);
  add_nodes(picture, e);
  add_groups(picture, e);
  if (picture.splits) {
    add_devices(picture, *known);
    picture.kept = stage_owner_text(experiment);
    if (experiment.strategy.kind == experiment::StrategyKind::hybrid && known->is_valid())
      add_holders(picture, e);
  } else {
    add_all_alike(picture, *known);
  }
  return picture;
}

ModelPicture with_owners(ModelPicture picture, std::vector<int> owners) {
  for (ModelColumn& column : picture.columns)
    column.parameter_bytes = column.activation_bytes = 0, column.share = 0;
  for (std::size_t n = 0; n < owners.size(); ++n) {
    ModelColumn& column = picture.columns[static_cast<std::size_t>(owners[n])];
    const int table = picture.nodes[n].tied_to;
    const bool has_table = table < 0 || owners[static_cast<std::size_t>(table)] == owners[n];
    column.parameter_bytes +=
        has_table ? picture.nodes[n].parameter_bytes : picture.node(table).parameter_bytes;
    column.activation_bytes += picture.nodes[n].activation_bytes;
    column.share += picture.nodes[n].share;
  }
  picture.owners = std::move(owners);
  picture.misplaced.reset();
  return picture;
}

}  // namespace trainyard::ui
