// SPDX-License-Identifier: GPL-3.0-or-later
// Fragments of a drawing on the clipboard, as JSON under a private MIME type, so that windows and
// processes can exchange them.
#pragma once

#include <QMimeData>
#include <memory>
#include <optional>

#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {

inline constexpr const char* kTopologyMime = "application/x-trainyard-topology+json";

// Returns the fragment as JSON. The JSON is added as plain text too.
std::unique_ptr<QMimeData> to_mime(const Fragment& fragment);
// Returns the fragment that the data contains. Returns nothing if there is none or it is invalid,
// because clipboard data is untrusted.
std::optional<Fragment> from_mime(const QMimeData* data);

}  // namespace trainyard::ui
