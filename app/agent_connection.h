// SPDX-License-Identifier: GPL-3.0-or-later
// Connection to the agent of another machine, which ssh starts there, or a machine that joined this
// user's listener.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/session/hosts/remote_host.h"
#include "core/session/system/process.h"

namespace trainyard::app {

struct AgentWish {
  std::string destination;         // as ssh accepts it, or "joined:NAME"
  std::string name;                // `where` of problems
  std::filesystem::path log_file;  // receives what ssh and the agent print
  // As in RemoteHostParts; may be null if no run is prepared.
  std::function<base::Result<std::unique_ptr<session::Relay>>()> relay_to_coordinator{};
  std::function<void(int rank, const std::string& text)> log{};
  std::function<bool()> is_canceled{};  // as in RemoteHostParts
};

// The members are destroyed in reverse order: the agent ends before ssh is killed.
struct AgentConnection {
  std::optional<session::Process> ssh;
  std::shared_ptr<session::RemoteHost> host;
};

// Refuses an agent with other contents than the one of this build (other_agent). Other problems:
// those of ssh::explain, and what ssh printed.
base::Result<AgentConnection> connect_agent(const AgentWish& wish);

}  // namespace trainyard::app
