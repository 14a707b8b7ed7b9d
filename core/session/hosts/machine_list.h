// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that the user added, in $XDG_DATA_HOME/trainyard/machines.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/session/hosts/agent_messages.h"

namespace trainyard::session {

struct Machine {
  std::string destination{};  // as ssh accepts it; identifies the machine
  std::string host{};         // its own name
  std::string architecture{};
  std::int64_t cores = 1, memory_bytes = 0;
  std::vector<std::string> addresses{};
};

Machine machine_of(const std::string& destination, const AgentHello& hello);

std::filesystem::path machine_list_file();
// Returns an empty list if there is no file.
base::Result<std::vector<Machine>> read_machine_list();
// Adds the machine, or replaces the entry with the same destination.
base::Result<void> add_to_list(const Machine& machine);
// Returns false if the list has no such machine.
base::Result<bool> remove_from_list(const std::string& destination);

}  // namespace trainyard::session
