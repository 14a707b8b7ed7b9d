// SPDX-License-Identifier: GPL-3.0-or-later
// Archive with the agent, its ranks and their libraries (packaging/agent_bundle), and its copies on
// other hosts: ~/.cache/trainyard/agents/VERSION-HASH. Copies of several versions coexist.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/ssh/command.h"

namespace trainyard::ssh {

struct AgentBundle {
  std::filesystem::path archive;
  std::string sha256;  // of the archive
  std::string name;    // VERSION-HASH
};

// Returns the hash of the agent beside the programs in `bin`; empty if it was not computed.
std::string agent_hash(const std::filesystem::path& bin);
// Returns the bundle that was built with the programs in `bin`. Problem no_agent_bundle if there is
// none.
base::Result<AgentBundle> find_bundle(const std::filesystem::path& bin);

// Returns the command, in words, that starts the agent on a host: the copy of the bundle `name`,
// else the program at the path `agent` if there is one. Prints that it is not installed otherwise.
std::vector<std::string> agent_command(const std::string& name, const std::filesystem::path& agent);

// Copies the bundle to a host, verifies it there, and starts the copied agent once to see that it
// runs. Needs no rights of the system. Replaces nothing; leaves no partial copy. Problems: those of
// `explain`; canceled; agent_not_copied with what the host printed.
base::Result<void> copy_agent(const std::string& destination, const AgentBundle& bundle,
                              const Progress& progress);

}  // namespace trainyard::ssh
