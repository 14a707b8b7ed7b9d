// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of control-plane endpoints.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::zmq {

base::Result<void> check_connect_endpoint(const std::string& endpoint);

// Checks an endpoint before a server binds to it. Returns a problem if a running server uses the
// path, if a file there is not a socket, or if other users can enter the directory. Without this
// check, ZeroMQ would take over the path of a running server.
base::Result<void> check_bind_endpoint(const std::string& endpoint);

}  // namespace trainyard::zmq
