// SPDX-License-Identifier: GPL-3.0-or-later
// Reduces a drawing to fewer ranks.
#pragma once

#include "core/topology/topology.h"

namespace trainyard::topology {

// Returns the first `ranks` workers, in rank order, with the hosts, switches and links that connect
// them. Each pair keeps its route in the full drawing. Hosts that become empty are removed. A
// device that is needed only for a route stays, with role idle. `drawn` must be valid, connect its
// workers, and have at least `ranks` of them; `ranks` >= 1.
Topology first_ranks(const Topology& drawn, std::int64_t ranks);

}  // namespace trainyard::topology
