// SPDX-License-Identifier: GPL-3.0-or-later
// Moves of layers between devices: the result of a move, or why it is refused. Only `place_by_hand`
// changes a document.
#pragma once

#include <set>

#include "ui/model/document/document.h"
#include "ui/modelview/model_picture.h"

namespace trainyard::ui {

// Node numbers of a picture.
using Nodes = std::set<int>;

QStringList places_of(const ModelPicture& picture, const Nodes& nodes);
Nodes nodes_at(const ModelPicture& picture,
               const QStringList& places);  // ignores layers that are not in the picture

// Returns the reason why no layer can be moved; nothing if layers can be moved.
std::optional<base::Problem> fixed(const ModelPicture& picture);

// Returns the column of each node after moving `nodes` to `column`. Problems: every device has all
// layers; the column has no device; only one of two layers that share a table would move; or, with
// rpc, layers would move between servers and trainers.
base::Result<std::vector<int>> moved(const ModelPicture& picture, const Nodes& nodes, int column);

// As `moved`, but to a device given by its name. If the device does not train, this is a problem.
base::Result<std::vector<int>> moved_to_device(const ModelPicture& picture, const Nodes& nodes,
                                               const QString& device);

// Returns strategy.stages.places for these columns of nodes. A place applies to its node and all
// nodes after it, up to the next place. Nodes in a column that cannot have places stay with the
// nodes before them.
std::vector<experiment::StagePlace> places_for_owners(const ModelPicture& picture,
                                                      const std::vector<int>& owners);

// Sets the places of layers in the document, as one undo step named `what`. There is no step if
// nothing changes.
void place_by_hand(Document& document, const QString& what, const ModelPicture& picture,
                   const std::vector<int>& owners);

}  // namespace trainyard::ui
