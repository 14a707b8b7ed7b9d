// SPDX-License-Identifier: GPL-3.0-or-later
// Control plane inside one process: message queues that a mutex protects. Messages are passed
// without serialization.
#pragma once

#include <memory>

#include "core/session/protocol/control.h"

namespace trainyard::inproc {

// Connects one server and its clients. Server and clients may outlive the hub. Each is used by one
// thread; different ones may be used in parallel.
class ControlHub {
 public:
  ControlHub();

  // Creates the server. Clients may connect and send before that. After this server is destroyed,
  // another one may be created, which continues with the same queue.
  std::unique_ptr<session::ControlServer> server() const;
  // Returns a function that connects clients. It ignores the endpoint: all clients of a hub belong
  // to its server.
  session::Connect connect() const;

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace trainyard::inproc
