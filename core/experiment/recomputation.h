// SPDX-License-Identifier: GPL-3.0-or-later
// Activation checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost";
// Huang et al. 2019 for pipelines). Of every run of training.recompute_segments consecutive
// segments, a rank keeps only the input from forward to backward, and recomputes the rest right
// before the backward pass. With L equal segments in runs of k it holds L / k + k outputs at once
// instead of L, at the cost of at most one more forward pass.
//
// Runs end with a stage, and with a unit of fsdp, whose parameters are gathered and freed as one. A
// run that is followed immediately by its own backward pass frees nothing: the last run of a
// replica, and of a stage that runs backward right after forward for each micro-batch. Outputs that
// were summed over ranks which share layers (tensor_parallel, hybrid) are kept, so nothing is sent
// twice. Outputs between two sums are recomputed (Korthikanti et al. 2022, "Reducing Activation
// Recomputation in Large Transformer Models": selective recomputation).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

struct Run {
  int first = 0, last = 0;
  // Segments whose output is recomputed, ascending: inputs of the run's backward pass, and what
  // they are computed from.
  std::vector<int> again;
};

struct Recomputation {
  std::vector<Run> runs;  // Runs that free any output, in order.
  // By segment: true if its output is freed because nothing outside its run needs it; empty: none
  // is.
  std::vector<bool> freed;

  bool frees(int segment) const {
    return !freed.empty() && freed[static_cast<std::size_t>(segment)];
  }
  const Run* ending_with(int segment) const;  // Null if there is no such run.
};

// Returns what a training rank frees and recomputes.
Recomputation recomputation_of(const Resolved& resolved, int rank);

// Recomputed floating-point operations as a fraction of those of a step, over all ranks.
double recomputed_share(const Resolved& resolved);

// Describes in one line what is freed and what that costs over all ranks, or that nothing can be
// freed. Nothing if recomputation is not requested.
std::optional<std::string> recomputation_line(const Resolved& resolved);

}  // namespace trainyard::experiment
