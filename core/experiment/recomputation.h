// SPDX-License-Identifier: GPL-3.0-or-later
// Recomputation of activations (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost";
// Huang et al. 2019 of pipelines): of every so many segments in a row (training.recompute_segments)
// a rank keeps what comes in from the forward to the backward pass, and makes the rest again right
// before the latter. Of L segments alike in runs of k it has L / k + k outputs at once in the place
// of L, for at most one more forward pass.
//
// Runs end with a stage, and with a unit of fsdp, whose parameters come and go as one. A run that
// is followed at once by its own backward pass gives nothing up: the last one of a replica, and of
// a stage that takes a micro-batch back right after it came. What ranks that share layers have
// added up is kept (tensor_parallel, hybrid), so that nothing is sent again; what each has made
// between two sums is made again (Korthikanti et al. 2022, "Reducing Activation Recomputation in
// Large Transformer Models": selective recomputation).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

struct Run {
  int first = 0, last = 0;
  std::vector<int> again;  // segments whose output is made once more, ascending: what the backward
                           // pass of the run computes by, and what leads to it
};

struct Recomputation {
  std::vector<Run> runs;       // those that give anything up, in order
  std::vector<bool> given_up;  // by segment: nobody outside of its run reads its output, and nobody
                               // keeps it; empty: none is

  bool gives_up(int segment) const {
    return !given_up.empty() && given_up[static_cast<std::size_t>(segment)];
  }
  const Run* ending_with(int segment) const;  // null: no such run
};

// What a rank that trains does.
Recomputation recomputation_of(const Resolved& resolved, int rank);

// Floating-point operations that are done once more, of those that a step takes otherwise; over all
// ranks.
double recomputed_share(const Resolved& resolved);

// What it gives up and what that costs, over all ranks, in one line; that nothing is given up,
// where it is asked for in vain. Nothing where it is not asked for.
std::optional<std::string> recomputation_said(const Resolved& resolved);

}  // namespace trainyard::experiment
