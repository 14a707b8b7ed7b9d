// SPDX-License-Identifier: GPL-3.0-or-later
// Text for the current traffic of a link or bus. Contains measured data only.
#pragma once

#include <QStringList>

#include "ui/canvas/overlay.h"

namespace trainyard::ui {

QString rate(double bytes_per_second);  // "203 MB/s"

// Returns the payload kinds, largest first: "activations, gradients of activations". Empty if only
// the number of bytes is known.
QString traffic_kinds(const LinkOverlay& live);

// Returns a line for each payload kind and direction: "activations 3.2 MB/s to host1". Traffic of
// unknown kind is listed if it is significant.
QStringList lines_of_link(const LinkOverlay& live, const LinkName& link);
QStringList lines_of_bus(const LinkOverlay& live);

// Returns the payload kinds on a selected link or host, shown below its total rate. Empty if there
// is no traffic.
QStringList lines_of_picked(const Overlay& overlay, const SelectedObjects& picked);

}  // namespace trainyard::ui
