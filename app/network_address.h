// SPDX-License-Identifier: GPL-3.0-or-later
// Network addresses of this machine, as numbers.
#pragma once

#include <string>
#include <vector>

#include "core/session/hosts/agent_messages.h"

namespace trainyard::app {

// Returns the addresses of all interfaces that are up, except loopback and link-local ones.
std::vector<std::string> own_addresses();

// Returns the address of the interface that the kernel's route to `peer` uses; empty if there is no
// route, or if `peer` is not a numeric address.
std::string own_address_toward(const std::string& peer);

// Returns the address of a host at which its ranks listen: the one that ssh reached, else the first
// one; empty if there is none.
std::string agent_address(const session::AgentHello& hello);
// Returns the address of this machine that the host reaches.
std::string own_address_toward_agent(const session::AgentHello& hello);

}  // namespace trainyard::app
