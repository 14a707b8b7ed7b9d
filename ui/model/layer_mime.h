// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that are dragged to a device, under a MIME type of our own: by the names that
// strategy.stages.places has for them, as "2" or "1.4".
#pragma once

#include <QMimeData>
#include <QStringList>
#include <memory>

namespace trainyard::ui {

std::unique_ptr<QMimeData> to_mime(const QStringList& layers);
// Empty when it holds none, or names that no layer can have: foreign bytes are never trusted.
QStringList layers_of_mime(const QMimeData* data);

// "layer 2", "layers 0 and 11", "12 layers".
QString layers_in_words(const QStringList& layers);

}  // namespace trainyard::ui
