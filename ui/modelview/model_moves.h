// SPDX-License-Identifier: GPL-3.0-or-later
// Layers are moved from one device to another: what comes of it, and why it cannot be. Pure, but
// for the edit itself.
#pragma once

#include <set>

#include "ui/model/document.h"
#include "ui/modelview/model_picture.h"

namespace trainyard::ui {

// Nodes of a picture, by number.
using Nodes = std::set<int>;

QStringList places_of(const ModelPicture& picture, const Nodes& nodes);
Nodes nodes_at(const ModelPicture& picture,
               const QStringList& places);  // without those that it does not have

// Why nothing of the picture can be moved; nothing where layers stand on devices.
std::optional<base::Problem> fixed(const ModelPicture& picture);

// By node, the column, once `nodes` are in `column`. Refused: where every device has all layers,
// where nobody is, and one of two layers that share a table without the other; in rpc, what servers
// keep to the trainers, and the other way round.
base::Result<std::vector<int>> moved(const ModelPicture& picture, const Nodes& nodes, int column);

// The same of a device by its name, which need not be one that trains.
base::Result<std::vector<int>> moved_to_device(const ModelPicture& picture, const Nodes& nodes,
                                               const QString& device);

// Places by hand that say so, each from a node on. Nodes in a column that is no place are left
// where those before them are.
std::vector<experiment::StagePlace> places_by(const ModelPicture& picture,
                                              const std::vector<int>& owners);

// One step of undo, called as `what` says; none where nothing changes.
void place_by_hand(Document& document, const QString& what, const ModelPicture& picture,
                   const std::vector<int>& owners);

}  // namespace trainyard::ui
