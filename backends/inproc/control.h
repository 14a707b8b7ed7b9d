// SPDX-License-Identifier: GPL-3.0-or-later
// Control plane inside one process: message queues that a mutex protects. Messages are passed
// without serialization.
#pragma once

#include <memory>

#include "core/session/protocol/control.h"

namespace trainyard::inproc {

// Connects one server and its clients. Server and clients may outlive the hub. The server and each
// client must be used by one thread only; their threads may run in parallel.
class ControlHub {
 public:
  ControlHub();

  // Creates the server. Clients may connect and send before it exists. After the server is
  // destroyed, another one may be created, which continues with the same queue.
  std::unique_ptr<session::ControlServer> server() const;
  // Returns a function that creates a client and connects it. The function ignores the endpoint
  // that it is given: all clients of a hub belong to the hub's server.
  session::Connect connect() const;

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace trainyard::inproc
