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
           Edge edge);  // aligns to the outermost; needs at least two
void distribute(topology::Topology& topology, const std::set<std::string>& names,
                Qt::Orientation direction);  // equal gaps; needs at least three

// Arranges all nodes. Hosts are placed around their switch, and these blocks side by side. Switches
// that only join switches are placed above, and hosts without a switch in a grid below.
void arrange(topology::Topology& topology);

// Returns how far a copy must be moved so that it covers no card or link: zero if its place is
// free, else to the next free place beside it, below it, or farther away. In grid steps.
Position free_offset(const topology::Topology& into, const topology::Topology& copy);

// Returns the position for a new card: `corner` if it covers no card there, else the nearest free
// one. In grid steps from `corner`.
Position uncovered(const topology::Topology& topology, Position corner, QSizeF size);

// Makes room for `devices` more devices on a host: moves it by the smallest shift at which its
// larger card covers no additional card. In grid steps.
void make_room(topology::Topology& topology, const std::string& name, std::size_t devices);

}  // namespace trainyard::ui
