// SPDX-License-Identifier: GPL-3.0-or-later
// The control plane over ZeroMQ: a ROUTER serves, each client is a DEALER with a random routing id,
// kept over reconnects.
//
// - Endpoints: ipc://PATH (up to 107 bytes, in a directory of ours that is closed to others) or
// tcp:// on a loopback address.
// - A client may connect, and send, before the server is there.
// - Nothing blocks but `receive`, up to its limit; a signal ends it early with nothing. A client
// whose queue is full gets a
//   Problem from `send`; a server drops what a peer's queue cannot take.
// - A client or server that closes stays up to 2 s for what it has sent to leave.
// - Frames that cannot be decoded, that are not newer than the peer's last, or that are of another
// run or generation are
//   dropped and, by the server, counted.
#pragma once

#include <memory>
#include <string>

#include "core/session/control.h"

namespace trainyard::zmq {

struct ServeOptions {
  std::string run;  // its name; clients of another run are not heard
  std::uint32_t generation = 0;
};

// Refused: an endpoint that another server uses, a directory that others can enter. A socket that a
// dead server left is replaced.
base::Result<std::unique_ptr<session::ControlServer>> serve(const std::string& endpoint,
                                                            const ServeOptions& options);

base::Result<std::unique_ptr<session::ControlClient>> connect(const std::string& endpoint);

}  // namespace trainyard::zmq
