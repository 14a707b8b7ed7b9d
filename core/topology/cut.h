// SPDX-License-Identifier: GPL-3.0-or-later
// A drawing with fewer ranks.
#pragma once

#include "core/topology/topology.h"

namespace trainyard::topology {

// The first `ranks` workers, in rank order, with what of hosts, switches and links connects them:
// each pair keeps the route that it has in the whole drawing. Hosts that then hold nothing vanish;
// a device that is but passed through stays, idle. `drawn` is valid, connects its workers and has
// `ranks` of them at least; `ranks` is 1 or more.
Topology first_ranks(const Topology& drawn, std::int64_t ranks);

}  // namespace trainyard::topology
