// SPDX-License-Identifier: GPL-3.0-or-later
// What crosses a link or a bus now, in words. Only what was measured is said.
#pragma once

#include <QStringList>

#include "ui/canvas/overlay.h"

namespace trainyard::ui {

// "activations, gradients of activations": most first; empty where nothing is known but how many
// bytes they are.
QString kinds_crossing(const LinkOverlay& live);

// A line for each kind and way: "activations 3.2 MB/s to host1". Of what no recorded op tells the
// kind, how much that is, if it is worth mention.
QStringList lines_of_link(const LinkOverlay& live, const LinkName& link);
QStringList lines_of_bus(const LinkOverlay& live);

// Of one link or one host that is picked: what crosses it, below a line that says how much. Empty
// where nothing does.
QStringList lines_of_picked(const Overlay& overlay, const Picked& picked);

}  // namespace trainyard::ui
