// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that the drawing has the devices that the strategy needs, and returns caveats of measured
// times on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"
#include "core/topology/network.h"

namespace trainyard::experiment {

// True if the host's address is that of another machine, where ranks are started by ssh.
bool is_other_machine(const topology::Host& host);

// Host index of each rank.
std::vector<int> hosts_of(const topology::Network& network,
                          const std::vector<topology::DeviceId>& ranks);
std::vector<int> hosts_of_workers(const topology::Topology& topology);

std::int64_t count_workers(const topology::Topology& topology);
std::int64_t count_servers(const topology::Topology& topology);

// True if a rank on this device is emulated (run.emulate must allow it): the device is not a cpu,
// and is not mapped to a GPU of this machine.
bool is_emulated(const topology::Device& device);

// Returns a caveat for measured times, shown after the word EMULATED: "1 of 2 devices run on the
// CPU, whose speed says nothing about a GPU". Returns nothing if no rank is emulated.
std::optional<std::string> emulation_caveat(const topology::Topology& topology);

// Returns a caveat for measured times if the ranks need more than the `usable` cores of this
// machine: "4 ranks share 2 cores: times include waiting for each other". Nothing if there are
// enough cores, or if times are virtual.
std::optional<std::string> shared_cores_caveat(const topology::Topology& topology,
                                               const RunSpec& run, int usable);

// Returns the caveat for ranks that share a GPU of this machine: "GPU 0 is shared by 2 ranks, GPU 1
// by 3: times include waiting for each other".
std::optional<std::string> shared_gpus_caveat(const topology::Topology& topology);

// Returns the index of a rank among the ranks that share its GPU, in the order of rank numbers.
// Ranks with the same index never share a GPU.
int index_on_gpu(const topology::Network& network, const std::vector<topology::DeviceId>& ranks,
                 int rank);

// Returns the reasons why training on n ranks is not equivalent to training on one device. For
// example, several ranks own samples, batch_norm sees less than the global batch, or averaging
// weights differs from averaging gradients. Nothing if both are equivalent.
std::optional<std::string> equivalence_caveats(const Experiment& experiment);

// Returns problems such as no worker, no route between workers, or a number of devices that the
// strategy does not support.
base::Problems placement_problems(const Experiment& experiment);

// Returns problems of hosts and devices on which this version cannot start ranks: other machines,
// and accelerators if run.emulate is false.
base::Problems start_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
