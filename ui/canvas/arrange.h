// SPDX-License-Identifier: GPL-3.0-or-later
// Places of hosts and switches, changed together. All are edits of a topology, to be called inside
// `Document::edit`.
#pragma once

#include <set>
#include <string>

#include "ui/canvas/layout.h"

namespace trainyard::ui {

enum class Edge { left, centre, right, top, middle, bottom };

void align(topology::Topology& topology, const std::set<std::string>& names,
           Edge edge);  // to the outermost; two or more
void distribute(topology::Topology& topology, const std::set<std::string>& names,
                Qt::Orientation direction);  // equal gaps; three or more

// Everything anew: the hosts of a switch around it, blocks side by side, switches that only join
// switches above, and hosts without a switch in a grid below.
void arrange(topology::Topology& topology);

// How far a copy must be moved to cover nothing, neither card nor link: not at all where its place
// is free, else to the next free place beside it, below it, or further on. Steps of the grid.
Place free_offset(const topology::Topology& into, const topology::Topology& copy);

// Where a new card stands that is wanted at `corner`: there, or as near as may be where it covers
// none. Steps of the grid from there.
Place uncovered(const topology::Topology& topology, Place corner, QSizeF size);

// For a host that is about to hold so many devices more: it moves, as little as may be, to where
// its larger card covers no other that it does not cover now. Steps of the grid.
void make_room(topology::Topology& topology, const std::string& name, std::size_t devices);

}  // namespace trainyard::ui
