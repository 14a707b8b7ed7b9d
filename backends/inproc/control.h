// SPDX-License-Identifier: GPL-3.0-or-later
// Control plane inside one process: queues under a lock. Messages are passed without serialization.
#pragma once

#include <memory>

#include "core/session/protocol/control.h"

namespace trainyard::inproc {

// Connects one server and its clients, which may outlive it. Each of them is used by one thread;
// different ones may be used in parallel.
class ControlHub {
 public:
  ControlHub();

  // Creates the server. Clients may connect and send before there is a server. A second server,
  // created after the first one's end, continues with its queue.
  std::unique_ptr<session::ControlServer> server() const;
  // Connects clients. Ignores the endpoint: all clients of a hub belong to its server.
  session::Connect connect() const;

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace trainyard::inproc
