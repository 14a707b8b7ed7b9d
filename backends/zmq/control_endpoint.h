// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of control-plane endpoints.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::zmq {

base::Result<void> check_connect_endpoint(const std::string& endpoint);

// Checks an endpoint before bind. Refuses a path that a running server uses or that is not a
// socket, and a directory that other users can enter. Without this check, ZeroMQ would take over
// the path of a running server.
base::Result<void> check_bind_endpoint(const std::string& endpoint);

}  // namespace trainyard::zmq
