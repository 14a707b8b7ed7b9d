// SPDX-License-Identifier: GPL-3.0-or-later
// Data plane of a rank over the transports of its experiment: shared memory inside a host, sockets
// between hosts.
#pragma once

#include "backends/zmq/curve_keys.h"
#include "core/comm/drawn_links.h"
#include "core/comm/futex_event.h"
#include "core/session/rank/rank.h"

namespace trainyard::app {

// File descriptors of shared memory that a rank inherits from the launcher; -1 if there is none.
struct Inherited {
  int shared_memory = -1;  // memfd of the mailboxes and arenas
  int shaped_links = -1;   // memfd of the drawn links, if they are imposed
};

// Sockets at which a rank listens for peers.
struct Listening {
  std::string socket_directory;  // for local sockets
  // Address of a network interface, if ranks run on several machines; empty: local sockets.
  std::string address;
  zmq::CurveKeys keys;  // of the run; empty: not encrypted
};

base::Result<std::unique_ptr<session::DataPlane>> make_data_plane(
    const session::DataPlaneRequest& request, const Inherited& inherited,
    const Listening& listening);

// True if any two ranks of the experiment use shared memory.
bool uses_shared_memory(const experiment::Resolved& experiment);

// Returns how long waiting ranks spin before they sleep. The time depends on the number of trainers
// and servers, which need the cores. An evaluator is not counted, because it waits for checkpoints
// and not for peers. With imposed link speeds, ranks spin only briefly, because waits are long.
comm::SpinPolicy patience_of(const experiment::Resolved& experiment);

// `imposes_links` returns true if the drawn link speeds are imposed in this run. `imposed_links`
// returns the links with their speeds, scaled as the experiment requests.
bool imposes_links(const experiment::Resolved& experiment);
base::Result<comm::DrawnLinks> imposed_links(const experiment::Resolved& experiment);

}  // namespace trainyard::app
