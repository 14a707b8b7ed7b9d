// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that the drawing can hold the ranks that the strategy needs, and caveats of its devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"
#include "core/topology/network.h"

namespace trainyard::experiment {

// Host index of each rank.
std::vector<int> hosts_of(const topology::Network& network,
                          const std::vector<topology::DeviceId>& ranks);
std::vector<int> hosts_of_workers(const topology::Topology& topology);

std::int64_t count_workers(const topology::Topology& topology);
std::int64_t count_servers(const topology::Topology& topology);

// True if a rank on it runs emulated (if `run.emulate` allows it): the device is not a cpu and is
// not mapped to a GPU of this machine.
bool is_emulated(const topology::Device& device);

// Caveat to show after EMULATED beside measured times: "1 of 2 devices run on the CPU, whose speed
// says nothing about a GPU". Nothing if no rank is emulated.
std::optional<std::string> emulation_caveat(const topology::Topology& topology);

// Caveat to show beside measured times if the ranks need more than the `usable` cores of this
// machine: "4 ranks share 2 cores: times include waiting for each other". Nothing if each has its
// own cores, or if times are virtual.
std::optional<std::string> shared_cores_caveat(const topology::Topology& topology,
                                               const RunSpec& run, int usable);

// The same for ranks on one GPU of this machine: "GPU 0 is shared by 2 ranks, GPU 1 by 3: times
// include waiting for each other".
std::optional<std::string> shared_gpus_caveat(const topology::Topology& topology);

// Index of a rank among the ranks on its GPU of this machine, in the order of their numbers. Ranks
// with equal index never share a GPU.
int index_on_gpu(const topology::Network& network, const std::vector<topology::DeviceId>& ranks,
                 int rank);

// Caveat if n ranks are not equivalent to one device: several ranks own samples, batch_norm sees
// less than the global batch, averaging weights differs from averaging gradients, and other cases.
std::optional<std::string> equivalence_caveats(const Experiment& experiment);

// Returns problems: no worker, workers without a route between them, a strategy for another number
// of devices.
base::Problems placement_problems(const Experiment& experiment);

// Returns hosts and devices that this version cannot start ranks on: other machines, and
// accelerators without permission to emulate them.
base::Problems start_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
