// SPDX-License-Identifier: GPL-3.0-or-later
// Moving layers between devices: the result, or the reason why it is refused. Only `place_by_hand`
// changes a document.
#pragma once

#include <set>

#include "ui/model/document/document.h"
#include "ui/modelview/model_picture.h"

namespace trainyard::ui {

// A set of nodes of a model's graph, by index.
using Nodes = std::set<int>;

QStringList places_of(const ModelPicture& picture, const Nodes& nodes);
Nodes nodes_at(const ModelPicture& picture,
               const QStringList& places);  // ignores layers that are not in the picture

// Returns the reason why no layer of the model can be moved; nothing if layers can be moved.
std::optional<base::Problem> fixed(const ModelPicture& picture);

// Returns the column of each node after `nodes` are moved to `column`. Problems: every device has
// all layers; the column has no device; only one of two layers that share a table would move; with
// rpc, layers would move between servers and trainers.
base::Result<std::vector<int>> moved(const ModelPicture& picture, const Nodes& nodes, int column);

// Returns the column of each node after `nodes` are moved to a device, given by its name. Returns a
// problem if the device does not train, or if `moved` would return one.
base::Result<std::vector<int>> moved_to_device(const ModelPicture& picture, const Nodes& nodes,
                                               const QString& device);

// Returns the entries of strategy.stages.places that give each node the column in `owners`. An
// entry applies to its node and all later nodes, up to the next entry. Nodes in a column that
// cannot be named there are assigned like the nodes before them.
std::vector<experiment::StagePlace> places_for_owners(const ModelPicture& picture,
                                                      const std::vector<int>& owners);

// Sets the places of layers in the document, as one undo step with the name `what`. Adds no undo
// step if nothing changes.
void place_by_hand(Document& document, const QString& what, const ModelPicture& picture,
                   const std::vector<int>& owners);

}  // namespace trainyard::ui
