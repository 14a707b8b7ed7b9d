// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "core/topology/network.h"

namespace trainyard::topology {

// Returns the indices in Topology::links of links that no route between two ranks uses, ascending.
std::vector<int> unused_links(const Network& network);

}  // namespace trainyard::topology
