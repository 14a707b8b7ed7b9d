// SPDX-License-Identifier: GPL-3.0-or-later
// Layers dragged to a device, under a private MIME type. Layers are named as in
// strategy.stages.places: "2" or "1.4".
#pragma once

#include <QMimeData>
#include <QStringList>
#include <memory>

namespace trainyard::ui {

std::unique_ptr<QMimeData> to_mime(const QStringList& layers);
// Returns the names of the layers in MIME data. Returns an empty list if there are none or a name
// is invalid, because MIME data is untrusted.
QStringList layers_of_mime(const QMimeData* data);

// Returns a short text for a list of layers: "layer 2", "layers 0 and 11", "12 layers".
QString layer_list_text(const QStringList& layers);

}  // namespace trainyard::ui
