// SPDX-License-Identifier: GPL-3.0-or-later
// The other machines on which drawn hosts run. A host with an address runs there: its agent is
// started by ssh. All other hosts run on this machine.
#pragma once

#include <memory>

#include "backends/zmq/curve.h"
#include "core/session/coordinator/coordinator.h"

namespace trainyard::app {

// True if a drawn host runs on another machine.
bool uses_other_machines(const experiment::Resolved& experiment);

class RemoteMachines {
 public:
  // Connects to the agents of all such hosts, and prepares them for the run.
  static base::Result<std::shared_ptr<RemoteMachines>> connect(
      const session::LaunchRequest& request);
  virtual ~RemoteMachines() = default;

  virtual bool is_remote(int rank) const = 0;
  // Starts a rank of another machine.
  virtual base::Result<std::unique_ptr<session::RankHandle>> start(
      const session::RankIdentity& identity) = 0;
  // Address of this machine at which its ranks listen for peers.
  virtual const std::string& own_address() const = 0;
  // x86-64 level that all machines of the run have, if their CPUs differ or TRAINYARD_CPU_LEVEL is
  // set; else 0.
  virtual int cpu_level() const = 0;
  // Directory on the rank's machine that has the files of the run.
  virtual const std::filesystem::path& files_of(int rank) const = 0;
  // Keys of the run's data plane.
  virtual const zmq::CurveKeys& keys() const = 0;
};

}  // namespace trainyard::app
