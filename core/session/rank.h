// SPDX-License-Identifier: GPL-3.0-or-later
// One rank of a run, from its first word to its last: makes its own plan, trains, ships what it
// measures, and stops when told, when a peer fails, or when it has not heard from the coordinator
// for too long.
//
// Threads: the caller's runs the lanes; one talks to the coordinator and ships events
// (rank_link.h); one sends heartbeats over a connection of its own (heart.h).
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
#include "core/run/slowness.h"
#include "core/session/control.h"

namespace trainyard::session {

struct RankIdentity {
  int rank = 0;
  std::string token;     // given by the launcher
  std::string endpoint;  // of the coordinator
};

// A rank's end of the data plane before its peers are known.
class DataPlane {
 public:
  virtual ~DataPlane() = default;
  virtual std::string endpoint() const = 0;  // empty where peers need none
  // Where what the host touches of the shared arena but by copies lies (run::Layout), if that is on
  // the device; else null.
  virtual std::byte* on_device() const { return nullptr; }
  virtual std::string why_not_on_device() const {
    return "";
  }  // where it was to lie there, and there is no room or no way
  virtual base::Result<std::unique_ptr<comm::Transport>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

struct DataPlaneRequest {
  const experiment::Resolved* experiment = nullptr;
  int rank = 0;
  std::uint32_t generation = 0;
  std::uint64_t run_key = 0;          // frames of other runs do not have it
  int channels = 1;                   // groups of the plan
  std::size_t shared_bytes = 0;       // of the arena that peers read in place
  std::size_t shared_host_bytes = 0;  // the first of it, which this process touches, too
  compute::Compute* compute = nullptr;
  std::string run_directory;
};

struct EngineRequest {
  const experiment::Resolved* experiment = nullptr;
  int rank = 0;
  const std::vector<plan::Group>* groups = nullptr;
};

// What app gives a rank: the backends.
struct RankServices {
  Connect connect;
  std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>
      make_compute;
  // How long ops would take on the drawn device, and copies to the memory of its host; asked of a
  // run that is paced to it.
  std::function<base::Result<run::OpTimes>(const plan::RankPlan& rank, const plan::Plan& plan,
                                           const topology::Device& device,
                                           const topology::Host& host)>
      drawn_op_times;
  std::function<base::Result<std::unique_ptr<DataPlane>>(const DataPlaneRequest& request)>
      make_data_plane;
  // In the place of the data plane, where the experiment has its collectives taken whole.
  std::function<base::Result<std::unique_ptr<comm::BoundCollectives>>(const EngineRequest& request)>
      make_engine;
};

// Success: it finished, or stopped at the horizon as told.
base::Result<void> run_rank(const RankIdentity& identity, const RankServices& services);

}  // namespace trainyard::session
