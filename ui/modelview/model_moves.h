// SPDX-License-Identifier: GPL-3.0-or-later
// Moves of layers between devices: their result, or why they are refused. Pure, except for the edit
// itself.
#pragma once

#include <set>

#include "ui/model/document/document.h"
#include "ui/modelview/model_picture.h"

namespace trainyard::ui {

// Node numbers of a picture.
using Nodes = std::set<int>;

QStringList places_of(const ModelPicture& picture, const Nodes& nodes);
Nodes nodes_at(const ModelPicture& picture,
               const QStringList& places);  // ignores places that are not in the picture

// Returns the reason why nothing can be moved; nothing if layers are placed on devices.
std::optional<base::Problem> fixed(const ModelPicture& picture);

// Returns the column of each node after moving `nodes` to `column`. Problems: every device has all
// layers; the column has no device; only one of two layers that share a table would move; with rpc,
// a move between servers and trainers.
base::Result<std::vector<int>> moved(const ModelPicture& picture, const Nodes& nodes, int column);

// As `moved`, for a device by name, which may be one that does not train.
base::Result<std::vector<int>> moved_to_device(const ModelPicture& picture, const Nodes& nodes,
                                               const QString& device);

// Returns manual places for these owners. Each place applies to a node and all nodes after it, up
// to the next place. Nodes in a column without a place stay with the nodes before them.
std::vector<experiment::StagePlace> places_for_owners(const ModelPicture& picture,
                                                      const std::vector<int>& owners);

// Edits the document as one undo step named `what`; no step if nothing changes.
void place_by_hand(Document& document, const QString& what, const ModelPicture& picture,
                   const std::vector<int>& owners);

}  // namespace trainyard::ui
