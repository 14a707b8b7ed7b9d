// SPDX-License-Identifier: GPL-3.0-or-later
// Layout of hosts and switches. All functions edit a topology and are called inside
// `Document::edit`.
#pragma once

#include <set>
#include <string>

#include "ui/canvas/layout.h"

namespace trainyard::ui {

enum class Edge { left, center, right, top, middle, bottom };

void align(topology::Topology& topology, const std::set<std::string>& names,
           Edge edge);  // aligns with the outermost node; needs at least two nodes
void distribute(topology::Topology& topology, const std::set<std::string>& names,
                Qt::Orientation direction);  // equal gaps; needs at least three nodes

// Arranges all nodes. Hosts are placed around their switch, and these groups are placed side by
// side. Switches without hosts are placed above the groups. Hosts without a switch are placed in a
// grid below the groups.
void arrange(topology::Topology& topology);

// Returns the offset, in grid steps, by which a copy must be moved so that it covers no card or
// link. The offset is zero if the copy's position is free. Otherwise it leads to the nearest free
// position to the right or below.
Position free_offset(const topology::Topology& into, const topology::Topology& copy);

// Returns the position for a new card, in grid steps from `corner`: `corner` if the card would
// cover no other card there, otherwise the nearest free position.
Position uncovered(const topology::Topology& topology, Position corner, QSizeF size);

// Makes room for `devices` more devices on a host, whose card then becomes larger. Moves the host
// by the smallest shift, in grid steps, at which the larger card covers only cards that the old
// card covered.
void make_room(topology::Topology& topology, const std::string& name, std::size_t devices);

}  // namespace trainyard::ui
