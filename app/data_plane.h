// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's end of the data plane over the transports that its experiment asks for: shared memory
// inside a host, sockets between hosts.
#pragma once

#include "core/comm/bell.h"
#include "core/comm/drawn_links.h"
#include "core/session/rank.h"

namespace trainyard::app {

// What the launcher passed on; -1 where there is none.
struct Inherited {
  int shared_memory = -1;  // the memfd of the mailboxes and arenas
  int shaped_links = -1;   // the memfd of the drawn links, when they are imposed
};

// Sockets are made in `socket_directory`.
base::Result<std::unique_ptr<session::DataPlane>> make_data_plane(
    const session::DataPlaneRequest& request, const Inherited& inherited,
    const std::string& socket_directory);

// Whether any two ranks of the experiment meet in shared memory.
bool uses_shared_memory(const experiment::Resolved& experiment);

// How long ranks burn before they sleep. Those who train need the cores, and drawn links make them
// wait for longer than is worth burning; an evaluator is told of checkpoints, and waits for no
// peer.
comm::Patience patience_of(const experiment::Resolved& experiment);

// Whether the drawn links hold in this run; and what they are then, scaled.
bool imposes_links(const experiment::Resolved& experiment);
base::Result<comm::DrawnLinks> imposed_links(const experiment::Resolved& experiment);

}  // namespace trainyard::app
