// SPDX-License-Identifier: GPL-3.0-or-later
// Network addresses of this machine, as numbers.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/session/hosts/agent_messages.h"

namespace trainyard::app {

struct InterfaceAddress {
  std::string interface {};  // name, such as eth0
  std::string address{};
};

// Returns the addresses of all interfaces that are up, except loopback and link-local ones.
std::vector<InterfaceAddress> own_interfaces();
std::vector<std::string> own_addresses();

// Returns the address of the interface that the kernel's route to `peer` uses; empty if there is no
// route, or if `peer` is not a numeric address.
std::string own_address_toward(const std::string& peer);

// Returns the address of a host at which its ranks listen: in the interface or network that
// `network` names, else the one by which the host was reached, else the first one; empty if there
// is none. Problem: no_such_interface, at `host`.
base::Result<std::string> agent_address(const session::AgentHello& hello,
                                        const experiment::NetworkSpec& network,
                                        const std::string& host);
// Returns the address of this machine for the host: likewise, else the one that the host reaches.
base::Result<std::string> own_address_toward_agent(const session::AgentHello& hello,
                                                   const experiment::NetworkSpec& network);

// Problem: network_not_trusted, if the messages to the address would be readable by others.
base::Result<void> check_trust(const std::string& address, const experiment::NetworkSpec& network,
                               const std::string& host);

}  // namespace trainyard::app
