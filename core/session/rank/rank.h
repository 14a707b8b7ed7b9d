// SPDX-License-Identifier: GPL-3.0-or-later
// One rank of a run from its first message to its last. It makes its plan, trains, and sends its
// measurements. It stops when asked to, when a peer fails, or after too long without a message from
// the coordinator.
//
// Threads: the caller's thread runs the lanes; one talks to the coordinator and ships events
// (rank_link.h); one sends heartbeats over its own connection (heartbeat_sender.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/collectives.h"
#include "core/comm/transport.h"
#include "core/compute/compute.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/control/slowness.h"
#include "core/session/protocol/control.h"

namespace trainyard::session {

struct RankIdentity {
  int rank = 0;
  std::string token;     // Token from the launcher (see Hello).
  std::string endpoint;  // Address of the coordinator.
};

// Connections of a rank for tensor data, before the endpoints of the other ranks are known.
class DataPlane {
 public:
  virtual ~DataPlane() = default;
  virtual std::string endpoint() const = 0;  // Empty if peers need no address.
  // Returns device memory for the shared buffers that the host only copies to or from
  // (`run::Layout`); null if these buffers are in host memory.
  virtual std::byte* on_device() const { return nullptr; }
  virtual std::string not_on_device_reason() const {
    return "";
    // Returns the reason why the shared buffers are not in device memory: no memory left, or no way
    // to share it. Empty if they are in device memory, or need not be.
  }
  virtual base::Result<std::unique_ptr<comm::Transport>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

struct DataPlaneRequest {
  const experiment::Resolved* experiment = nullptr;
  int rank = 0;
  std::uint32_t generation = 0;
  std::uint64_t run_key = 0;  // Random number that frames of other runs do not have.
  // Number of channels. Each group of ranks in the plan uses one channel.
  int channels = 1;
  std::size_t max_message_bytes = 0;  // Size of the largest message to or from a peer.
  std::size_t shared_bytes = 0;       // Size of the arena that peers read in place.
  std::size_t shared_host_bytes = 0;  // Leading bytes of the arena that the host accesses directly.
  compute::Compute* compute = nullptr;
  std::string run_directory;
};

struct EngineRequest {
  const experiment::Resolved* experiment = nullptr;
  int rank = 0;
  const std::vector<plan::Group>* groups = nullptr;
};

// Backends of a rank, as functions that create them. The program that runs the rank supplies these
// functions.
struct RankServices {
  Connect connect;
  std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>
      make_compute;
  // Returns how long ops take on the drawn device, including copies to the memory of its host.
  // Called in a run that is paced to the drawn speeds.
  std::function<base::Result<run::OpTimes>(const plan::RankPlan& rank, const plan::Plan& plan,
                                           const topology::Device& device,
                                           const topology::Host& host)>
      drawn_op_times;
  std::function<base::Result<std::unique_ptr<DataPlane>>(const DataPlaneRequest& request)>
      make_data_plane;
  // Called instead of `make_data_plane` if an engine executes the experiment's collectives as
  // single ops.
  std::function<base::Result<std::unique_ptr<comm::BoundCollectives>>(const EngineRequest& request)>
      make_engine;
};

// Runs the rank. Succeeds if the rank finished, or stopped at the horizon as requested.
base::Result<void> run_rank(const RankIdentity& identity, const RankServices& services);

}  // namespace trainyard::session
