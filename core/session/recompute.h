// SPDX-License-Identifier: GPL-3.0-or-later
// Computes a recorded run with parameter servers again, from its experiment and the order in which its servers went: every gradient and every
// update, in one thread. On a machine of the same kind the weights are the same to the bit.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/compute/compute.h"
#include "core/topology/topology.h"

namespace trainyard::session {

struct Recomputed {
  std::int64_t gradients = 0;    // computed
  std::int64_t events = 0;       // of servers that were followed
  std::int64_t left_over = 0;    // that could not be: what they follow was not written down, as of a run that was killed
  std::string parameters_xxh64;  // of what the first worker ends with
  std::string recorded_xxh64;    // as its result says; empty where it has none
  bool same() const { return parameters_xxh64 == recorded_xxh64; }
};

using MakeCompute = std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>;

// Problems: no run directory, a run without servers, an order that is not there, is damaged, is of another plan, or cannot have been.
base::Result<Recomputed> recompute(const std::filesystem::path& run_directory, const MakeCompute& make_compute);

}  // namespace trainyard::session
