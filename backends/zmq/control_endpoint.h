// SPDX-License-Identifier: GPL-3.0-or-later
// Which endpoints the control plane accepts.
#pragma once

#include <string>

#include "core/base/result.h"

namespace trainyard::zmq {

base::Result<void> check_connect_endpoint(const std::string& endpoint);

// Also refuses a path where a server lives or that is no socket, and a directory that is not ours
// alone. ZeroMQ itself would take the path from a living server.
base::Result<void> check_bind_endpoint(const std::string& endpoint);

}  // namespace trainyard::zmq
