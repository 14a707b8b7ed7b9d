// SPDX-License-Identifier: GPL-3.0-or-later
// Control plane over ZeroMQ. The server has a ROUTER socket for viewers and one for ranks. Each
// client has a DEALER socket with a random routing id, which it keeps when it reconnects.
//
// - The socket of viewers, which every process of this user may find, accepts messages of at most
//   64 kB, and that of ranks 2 MB. Both limit their connections. While a socket has as many, it
//   cannot be reached, and existing connections continue. ZeroMQ does not limit the number of
//   frames in a message.
// - Endpoints: ipc://PATH (up to 107 bytes, in a directory that only this user can
//   enter) or tcp:// on a loopback address.
// - A client may connect and send before the server exists.
// - Only `receive` blocks, up to its limit; a signal ends it early without a message.
//   If a client's queue is full, `send` returns a Problem. A server drops messages
//   that do not fit in a peer's queue.
// - A client or server that closes waits up to 2 s for its messages to be sent.
// - Frames are dropped, and counted by the server, if they cannot be decoded, are not
//   newer than the peer's last one, or belong to another run or generation.
#pragma once

#include <memory>
#include <string>

#include "core/session/protocol/control.h"

namespace trainyard::zmq {

struct ServeOptions {
  std::string run;  // name of the run; frames of clients of another run are dropped
  std::uint32_t generation = 0;
  std::string rank_endpoint = {};  // endpoint for ranks; empty: ranks use that of viewers
  int viewer_connections = 64, rank_connections = 64;  // limits
};

// Starts a server. Refuses an endpoint that another server uses, and a directory that other users
// can enter. Replaces the socket of a dead server.
base::Result<std::unique_ptr<session::ControlServer>> serve(const std::string& endpoint,
                                                            const ServeOptions& options);

base::Result<std::unique_ptr<session::ControlClient>> connect(const std::string& endpoint);

}  // namespace trainyard::zmq
