// SPDX-License-Identifier: GPL-3.0-or-later
// A remote host, as the coordinator sees it: its agent starts ranks, and their control messages are
// relayed to the coordinator's endpoint. A thread of its own serves the stream. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/session/coordinator/coordinator.h"
#include "core/session/hosts/agent_messages.h"
#include "core/session/hosts/frame_stream.h"
#include "core/session/hosts/probe.h"
#include "core/session/hosts/relay.h"

namespace trainyard::session {

struct RemoteHostParts {
  std::string name;  // `where` of problems
  std::unique_ptr<FrameStream> stream;
  // Connects to the coordinator's endpoint for ranks.
  std::function<base::Result<std::unique_ptr<Relay>>()> relay_to_coordinator;
  // Receives the lines that the process of a rank printed. Called in the thread of the host.
  std::function<void(int rank, const std::string& text)> log{};
  // True if the user canceled the run; may be null. Called by threads that wait for the agent.
  std::function<bool()> is_canceled{};
};

class RemoteHost {
 public:
  // Waits for the agent's first message, at most `limit_seconds`.
  static base::Result<std::shared_ptr<RemoteHost>> connect(RemoteHostParts parts,
                                                           double limit_seconds);
  virtual ~RemoteHost() = default;  // Closes the stream, which ends the agent and its ranks.

  virtual const AgentHello& hello() const = 0;
  // Prepares the agent for a run, and sends it those of the run's files that its cache lacks.
  // Returns the directory on the host that has the files.
  virtual base::Result<std::string> prepare(const PrepareRun& run,
                                            const std::vector<SourceFile>& files) = 0;
  // Starts a rank, and returns a handle of its process, which keeps the host connected.
  virtual base::Result<std::unique_ptr<RankHandle>> start(const StartRank& rank) = 0;
  // Listens for a probe from another host at an address of this one. Returns the port.
  virtual base::Result<int> listen_for_probe(const std::string& address,
                                             const std::string& token) = 0;
  // Probes the connection from this host to a listener.
  virtual base::Result<ProbeFigures> probe_peer(const std::string& address, int port,
                                                const std::string& token) = 0;
  // Time since anything arrived from the host.
  virtual double silent_seconds() const = 0;
  // Estimate from the time requests so far, which are sent every second; nothing before the first
  // answer.
  virtual std::optional<ClockOffset> clock_offset() const = 0;
};

}  // namespace trainyard::session
