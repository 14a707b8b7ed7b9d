// SPDX-License-Identifier: GPL-3.0-or-later
// Endpoints and sockets of the control plane.
#pragma once

#include <cstddef>
#include <string>
#include <zmq.hpp>

#include "core/base/result.h"

namespace trainyard::zmq {

base::Result<void> check_connect_endpoint(const std::string& endpoint);

// Checks an endpoint before a server binds to it. Returns a problem if a running server uses the
// path, if a file there is not a socket, or if other users can enter the directory. Without this
// check, ZeroMQ would take over the path of a running server.
base::Result<void> check_bind_endpoint(const std::string& endpoint);

constexpr int kQueueMessages = 1000;  // limit of queued messages, per direction and peer

// Sets the options of a socket for messages of at most `max_bytes`. Throws ::zmq::error_t.
void configure_control(::zmq::socket_t& socket, std::size_t max_bytes);

}  // namespace trainyard::zmq
