// SPDX-License-Identifier: GPL-3.0-or-later
// Computes a recorded run again whose ranks have no steps in common, from its experiment and the
// order that its ranks wrote down: of parameter servers what they took and gave, of asynchronous
// gossip who was answered when. Every gradient and every update, in one thread. On a machine of the
// same kind the weights are the same to the bit.
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

struct Recomputed {
  // What a rank that has all parameters ends with.
  struct Weights {
    int rank = 0;
    std::string parameters_xxh64;
    std::string recorded_xxh64;  // as the run's result says; empty where it has none
  };
  std::int64_t gradients = 0;  // computed
  std::int64_t events = 0;     // that were followed
  std::int64_t left_over =
      0;  // that could not be: what they follow was not written down, as of a run that was killed
  std::vector<Weights>
      weights;  // of those ranks whose end the result has; of all where it has none

  bool compared() const { return !weights.empty() && !weights.front().recorded_xxh64.empty(); }
  const Weights& told() const;  // the first that are not the same, or the first of all
  bool same() const { return told().parameters_xxh64 == told().recorded_xxh64; }
};

// What ranks of one process compute on and talk over; by rank.
struct RecomputeServices {
  std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>
      make_compute;
  std::function<base::Result<std::vector<std::unique_ptr<comm::Transport>>>(
      int ranks, std::size_t arena_bytes, int channels)>
      make_transports;
};

// Problems: no run directory, a run whose weights depend on no order, an order that is not there,
// is damaged, is of another plan, or cannot have been.
base::Result<Recomputed> recompute(const std::filesystem::path& run_directory,
                                   const RecomputeServices& services);

}  // namespace trainyard::session
