// SPDX-License-Identifier: GPL-3.0-or-later
// Replays a recorded run whose ranks have no common steps, from its experiment and its order file.
// For parameter servers, the file contains the order of pushes and pulls; for asynchronous gossip,
// the order of answers. Computes every gradient and every update in one thread. On the same kind of
// machine the weights are bit-identical.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/comm/transport.h"
#include "core/compute/compute.h"
#include "core/topology/topology.h"

namespace trainyard::session {

struct ReplayResult {
  // Final weights of a rank that holds all parameters.
  struct Weights {
    int rank = 0;
    std::string parameters_xxh64;
    std::string recorded_xxh64;  // From the run's result; empty if it has none.
  };
  std::int64_t gradients = 0;  // Number of gradients computed.
  std::int64_t events = 0;     // Number of events replayed.
  // Events that could not be replayed because an event that they depend on was not recorded, for
  // example in a killed run.
  std::int64_t skipped_events = 0;
  // Final weights after the replay, for the ranks that the recorded result names, or for all ranks
  // if there is no recorded result.
  std::vector<Weights> weights;

  bool compared() const { return !weights.empty() && !weights.front().recorded_xxh64.empty(); }
  // Returns the first entry of `weights` whose hash differs from the recorded one; if all are
  // equal, the first entry.
  const Weights& reported_weights() const;
  bool same() const {
    return reported_weights().parameters_xxh64 == reported_weights().recorded_xxh64;
  }
};

// Functions that create the devices and transports for all ranks, which are in one process.
struct ReplayServices {
  std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>
      make_compute;
  std::function<base::Result<std::vector<std::unique_ptr<comm::Transport>>>(
      int ranks, std::size_t arena_bytes, int channels)>
      make_transports;
};

// Replays a run. Returns a Problem if there is no run directory, or if the run's weights do not
// depend on an order. Also fails if the order is missing, damaged, impossible, or of another plan.
base::Result<ReplayResult> replay_run(const std::filesystem::path& run_directory,
                                      const ReplayServices& services);

}  // namespace trainyard::session
