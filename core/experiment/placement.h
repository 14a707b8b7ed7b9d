// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the drawing can hold the ranks that the strategy wants.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"
#include "core/topology/network.h"

namespace trainyard::experiment {

// The host of each rank, by its index.
std::vector<int> hosts_of(const topology::Network& network,
                          const std::vector<topology::DeviceId>& ranks);
std::vector<int> hosts_of_workers(const topology::Topology& topology);

std::int64_t count_workers(const topology::Topology& topology);
std::int64_t count_servers(const topology::Topology& topology);

// Whether a rank on it runs emulated, if `run.emulate` lets it: it is drawn as another thing than a
// cpu, and is no GPU of this machine.
bool is_emulated(const topology::Device& device);

// What to say, after EMULATED, beside every time that is measured where ranks run so: "1 of 2
// devices run on the CPU, whose speed says nothing about a GPU". Nothing where none does.
std::optional<std::string> emulation_said(const topology::Topology& topology);

// What to say beside every time that is measured when the ranks want more cores than the `usable`
// ones of the machine that runs them: "4 ranks share 2 cores: times include waiting for each
// other". Nothing when each has its own, or times are those of a virtual clock.
std::optional<std::string> shared_cores(const topology::Topology& topology, const RunSpec& run,
                                        int usable);

// Likewise of ranks on one GPU of this machine: "GPU 0 is shared by 2 ranks, GPU 1 by 3: times
// include waiting for each other".
std::optional<std::string> shared_gpus(const topology::Topology& topology);

// Which of the ranks on its GPU of this machine a rank is, from 0 in the order of their numbers. No
// two ranks with the same answer share a GPU.
int place_on_gpu(const topology::Network& network, const std::vector<topology::DeviceId>& ranks,
                 int rank);

// What to say beside the figures of a training that is outside the promise that n ranks equal one
// device: where several ranks own samples, where batch_norm sees less than the global batch, where
// weights are averaged and that is not the average of gradients.
std::optional<std::string> unlike_one_device(const Experiment& experiment);

// No worker at all, workers without a route between them, a strategy for another number of devices.
base::Problems placement_problems(const Experiment& experiment);

// Hosts and devices that this version cannot start ranks on: other machines, and accelerators that
// may not be emulated.
base::Problems start_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
