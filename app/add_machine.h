// SPDX-License-Identifier: GPL-3.0-or-later
// Makes another machine ready for runs: trusts its host key, copies the agent, and asks what the
// machine has.
#pragma once

#include <functional>
#include <string>

#include "backends/ssh/agent_bundle.h"
#include "backends/ssh/host_key.h"
#include "core/session/hosts/machine_list.h"

namespace trainyard::app {

// Questions to the user. False ends the addition with problem "canceled".
struct AddQuestions {
  std::function<bool(const ssh::HostKey& key)> trusts_key;
  std::function<bool(const ssh::AgentBundle& bundle)> copies_agent;
  ssh::Progress progress{};  // of the copy; may be null
};

// Adds the machine to the list of machines, and returns its entry. Problems: those of
// connect_agent and copy_agent.
base::Result<session::Machine> add_machine(const std::string& destination,
                                           const AddQuestions& questions);

}  // namespace trainyard::app
