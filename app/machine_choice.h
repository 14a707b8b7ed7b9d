// SPDX-License-Identifier: GPL-3.0-or-later
// Choice of the machines of drawn hosts on the command line (--hosts).
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/topology/topology.h"

namespace trainyard::app {

// Sets the addresses of the hosts. `choice` is one of:
//   here           all hosts are this machine
//   slurm          the nodes of this job's Slurm allocation, in the order of the hosts
//   NAME,NAME,...  machines as ssh accepts them, in the order of the hosts; "here" is this machine
// Fails if there are fewer machines than hosts, or more.
base::Result<void> choose_machines(const std::string& choice, topology::Topology& topology);

// True in a process of a Slurm job step that is not its first one (SLURM_PROCID). The first process
// runs the experiment on all nodes.
bool is_further_slurm_process(const std::string& choice);

}  // namespace trainyard::app
