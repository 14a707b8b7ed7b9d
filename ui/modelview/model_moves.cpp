// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_moves.h"

#include <QCoreApplication>
#include <algorithm>

namespace trainyard::ui {
namespace {

QString move_text(const char* source) { return QCoreApplication::translate("model_moves", source); }

base::Problem refusal(const char* id, const QString& where, const QString& what,
                      const QString& advice) {
  return {id, base::ProblemCode::refused, where.toStdString(), what.toStdString(),
          "", advice.toStdString()};
}

// Returns a problem if two nodes that share a table would be in different columns, and therefore on
// different devices.
std::optional<base::Problem> torn(const ModelPicture& picture, const std::vector<int>& owners) {
  for (int n = 0; n < picture.count() && !picture.ties_may_split; ++n) {
    const int tied = picture.node(n).tied_to;
    if (tied < 0 || owners[static_cast<std::size_t>(tied)] == owners[static_cast<std::size_t>(n)])
      continue;
    return refusal(
        "tied_layers_apart", "model.layers",
        move_text("Layer %1 is tied to the table of layer %2, so both must be on one device")
            .arg(picture.node(n).place, picture.node(tied).place),
        move_text("Move both layers together, or untie layer %1.").arg(picture.node(n).place));
  }
  return std::nullopt;
}

}  // namespace

QStringList places_of(const ModelPicture& picture, const Nodes& nodes) {
  QStringList places;
  for (const int node : nodes) places << picture.node(node).place;
  return places;
}

Nodes nodes_at(const ModelPicture& picture, const QStringList& places) {
  Nodes nodes;
  for (const QString& place : places)
    if (const int node = picture.node_at(place); node >= 0) nodes.insert(node);
  return nodes;
}

std::optional<base::Problem> fixed(const ModelPicture& picture) {
  if (picture.splits) return std::nullopt;
  return refusal(
      "layers_not_placed_by_strategy", "strategy.kind",
      move_text("The strategy %1 does not place layers on single devices").arg(picture.strategy),
      move_text("Set the strategy to model_parallel, pipeline, or hybrid with several stages."));
}

base::Result<std::vector<int>> moved(const ModelPicture& picture, const Nodes& nodes, int column) {
  if (const auto why = fixed(picture)) return base::fail(*why);
  const bool there = column >= 0 && column < static_cast<int>(picture.columns.size()) &&
                     picture.columns[static_cast<std::size_t>(column)].place >= 0;
  if (!there)
    return base::fail(
        refusal("unknown_device", "topology.hosts",
                move_text("The device to which the layers would move does not exist"),
                move_text("Add a device to the drawing, or move the layers to a drawn device.")));
  const bool to_server = picture.columns[static_cast<std::size_t>(column)].place > 0;
  for (const int node : nodes)
    if (const ModelNode& one = picture.node(node); one.bound && one.called != to_server)
      return base::fail(*one.bound);
  std::vector<int> owners = picture.owners;
  for (const int node : nodes) owners[static_cast<std::size_t>(node)] = column;
  if (const auto why = torn(picture, owners)) return base::fail(*why);
  return owners;
}

base::Result<std::vector<int>> moved_to_device(const ModelPicture& picture, const Nodes& nodes,
                                               const QString& device) {
  if (const auto why = fixed(picture)) return base::fail(*why);
  const auto at = std::ranges::find_if(
      picture.columns, [&](const ModelColumn& column) { return column.devices.contains(device); });
  if (at == picture.columns.end())
    return base::fail(
        refusal("device_not_worker", device,
                move_text("%1 is not a worker, so it cannot hold layers").arg(device),
                move_text("Assign the role worker to it, or choose another device.")));
  return moved(picture, nodes, static_cast<int>(at - picture.columns.begin()));
}

std::vector<experiment::StagePlace> places_for_owners(const ModelPicture& picture,
                                                      const std::vector<int>& owners) {
  std::vector<experiment::StagePlace> places;
  for (std::size_t n = 0; n < owners.size(); ++n) {
    const int place = picture.columns[static_cast<std::size_t>(owners[n])].place;
    if (place >= 0 && (places.empty() || places.back().rank != place))
      places.push_back({picture.nodes[n].place.toStdString(), place});
  }
  return places;
}

void place_by_hand(Document& document, const QString& what, const ModelPicture& picture,
                   const std::vector<int>& owners) {
  if (owners == picture.owners) return;
  document.edit(what, [&](experiment::Experiment& experiment) {
    experiment.strategy.stages.partition = experiment::Partition::by_hand;
    experiment.strategy.stages.places = places_for_owners(picture, owners);
  });
}

}  // namespace trainyard::ui
