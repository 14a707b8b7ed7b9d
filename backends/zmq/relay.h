// SPDX-License-Identifier: GPL-3.0-or-later
// Both ends of a relay of control messages over ZeroMQ (core/session/hosts/relay.h).
#pragma once

#include <memory>
#include <string>

#include "core/session/hosts/relay.h"

namespace trainyard::zmq {

// The end for ranks: listens at `endpoint`, ipc://PATH in a directory that only this user can
// enter. Accepts at most `connections` connections.
base::Result<std::unique_ptr<session::Relay>> relay_ranks(const std::string& endpoint,
                                                          int connections);

// The end for the coordinator that listens at `endpoint`. Connects once for each peer, under the
// routing id that the peer has at the other end.
base::Result<std::unique_ptr<session::Relay>> relay_to_coordinator(const std::string& endpoint);

}  // namespace trainyard::zmq
