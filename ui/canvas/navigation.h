// SPDX-License-Identifier: GPL-3.0-or-later
// Keyboard navigation on a drawing.
#pragma once

#include <vector>

#include "ui/canvas/layout.h"

namespace trainyard::ui {

// Returns each host with its devices, then switches, then links: the order for Tab, Home, End and
// screen readers.
std::vector<TopologyObject> reading_order(const Layout& layout);
// Returns the object `by` places after `from` in reading order, where the first object follows the
// last one. If `from` is not an object of the drawing, returns the first object, or the last one if
// `by` is negative.
TopologyObject next_object(const Layout& layout, const TopologyObject& from, int by);
// Returns the nearest object in a direction (a unit vector), preferring objects straight ahead.
// Returns `from` if there is none.
TopologyObject nearest_object(const Layout& layout, const TopologyObject& from, QPointF direction);
// Describes an object for screen readers and the status bar: "gpu1: emulated gpu, rank 3, on host2.
// 1 core, 4 GB." `emulated`: true if the device's tile has the tag EMULATED. `imposed`: the other
// tags of the tile. `holding`: text about the rank's share of the model, which is appended.
QString describe(const topology::Topology& topology, const TopologyObject& part, bool emulated,
                 const QStringList& imposed = {}, const QString& holding = {});

}  // namespace trainyard::ui
