// SPDX-License-Identifier: GPL-3.0-or-later
// Activation checkpointing (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost";
// Huang et al. 2019 for pipelines). The segments are divided into sequences of
// training.recompute_segments consecutive segments. A rank keeps only the input of each sequence
// from forward to backward, and recomputes the outputs within the sequence right before its
// backward pass. With L equal segments in sequences of k, it holds L / k + k outputs at once
// instead of L, at the cost of at most one more forward pass.
//
// A sequence also ends where a stage ends, and where a unit of fsdp ends, because the parameters of
// a unit are gathered and freed together. A sequence frees nothing if its backward pass follows its
// forward pass immediately. This holds for the last sequence of a replica. It also holds for the
// last sequence of a stage that processes each micro-batch backward right after forward. Outputs
// that were summed over ranks which split layers (tensor_parallel, hybrid) are kept, so that
// nothing is sent twice. Outputs between two sums are recomputed (Korthikanti et al. 2022,
// "Reducing Activation Recomputation in Large Transformer Models": selective recomputation).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Sequence of consecutive segments, from `first` to `last`.
struct Run {
  int first = 0, last = 0;
  // Segments whose output is recomputed, ascending: the outputs that the sequence's backward pass
  // reads, and the outputs from which these are computed.
  std::vector<int> again;
};

struct Recomputation {
  std::vector<Run> runs;  // Sequences in which at least one output is freed, in order.
  // By segment: true if its output is freed, because nothing outside its sequence needs it. Empty
  // if none is freed.
  std::vector<bool> freed;

  bool frees(int segment) const {
    return !freed.empty() && freed[static_cast<std::size_t>(segment)];
  }
  const Run* ending_with(int segment) const;  // Returns null if no sequence ends with the segment.
};

// Returns what a training rank frees and recomputes.
Recomputation recomputation_of(const Resolved& resolved, int rank);

// Returns the recomputed floating-point operations as a fraction of all operations of a step, over
// all ranks.
double recomputed_share(const Resolved& resolved);

// Returns one line that says which outputs are freed and what recomputing them costs over all
// ranks, or that no output can be freed. Returns nothing if recomputation is not requested.
std::optional<std::string> recomputation_line(const Resolved& resolved);

}  // namespace trainyard::experiment
