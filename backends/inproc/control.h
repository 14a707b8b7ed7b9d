// SPDX-License-Identifier: GPL-3.0-or-later
// The control plane inside one process: queues under a lock. Messages are handed over as they are.
#pragma once

#include <memory>

#include "core/session/control.h"

namespace trainyard::inproc {

// Where one server and its clients meet. They may outlive it; each is used by one thread, all
// together by many.
class ControlHub {
 public:
  ControlHub();

  // Clients may connect and send before there is a server. A second server after the first one's
  // end goes on with its queue.
  std::unique_ptr<session::ControlServer> server() const;
  // Ignores the endpoint: all clients of a hub are of its server.
  session::Connect connect() const;

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace trainyard::inproc
