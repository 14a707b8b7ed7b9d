// SPDX-License-Identifier: GPL-3.0-or-later
// The agent of a remote host: starts the ranks of one run on its host, and relays their control
// messages to the coordinator over one stream. When the stream closes, or the coordinator is silent
// for too long, the agent kills its ranks and ends. Single-threaded.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/session/hosts/agent_messages.h"
#include "core/session/hosts/file_cache.h"
#include "core/session/hosts/frame_stream.h"
#include "core/session/hosts/relay.h"

namespace trainyard::session {

// Additions to the processes of ranks: memory that they inherit, and how they receive its location.
struct RankProcessParts {
  std::vector<std::string> arguments, environment;
  std::vector<std::pair<int, int>> descriptors;  // as ProcessOptions::descriptors
};

struct AgentParts {
  std::unique_ptr<FrameStream> stream;  // to the coordinator
  AgentHello hello;
  std::string rank_program;
  std::filesystem::path directory;  // private directory for sockets, logs and links to files
  std::unique_ptr<FileCache> files;
  std::function<base::Result<std::unique_ptr<Relay>>(const std::string& endpoint, int connections)>
      relay_ranks;
  // Makes what all ranks of this host share, such as memory. Called once.
  std::function<base::Result<RankProcessParts>(const PrepareRun& run)> prepare;
};

// Serves one coordinator. Succeeds if the coordinator closed the stream.
base::Result<void> run_agent(AgentParts parts);

}  // namespace trainyard::session
