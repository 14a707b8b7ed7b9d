// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's end of the data plane over the transports that its experiment asks for: shared memory inside a host, sockets
// between hosts.
#pragma once

#include "core/session/rank.h"

namespace trainyard::app {

// `shared_memory` is the memfd that the launcher passed on; -1 where there is none. Sockets are made in `socket_directory`.
base::Result<std::unique_ptr<session::DataPlane>> make_data_plane(const session::DataPlaneRequest& request, int shared_memory,
                                                                  const std::string& socket_directory);

// Whether any two ranks of the experiment meet in shared memory.
bool uses_shared_memory(const experiment::Resolved& experiment);

}  // namespace trainyard::app
