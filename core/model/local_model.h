// SPDX-License-Identifier: GPL-3.0-or-later
// Partitioned model: each rank has some of its segments. Outputs of segments and their gradients
// are sent between ranks.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// Returns the local model of a rank, given the owner (a rank) of each segment: all segments, but
// only local ones have parameters, contiguous in local flat buffers. If a tied segment and its
// owner are on two ranks, both ranks have all parameters of the owner, and both segments are marked
// `apart`.
Model part_of(const Model& model, const std::vector<int>& owners, int rank);

// Consecutive segments on one rank, as many as possible.
struct Stage {
  int first = 0, last = 0, rank = 0;
  bool has(int segment) const { return first <= segment && segment <= last; }
  bool empty() const { return last < first; }
};
std::vector<Stage> stages_of(const std::vector<int>& owners);

// Returns the outputs of earlier segments that a segment takes as input: ascending, with the
// preceding segment last; -1: the samples.
std::vector<int> inputs_of(const Model& model, int segment);

// True if the input gradient, or the gradient before its activation, depends on the segment's
// output (or input).
bool backward_needs_output(const Segment& segment);
bool backward_needs_input(const Segment& segment);
// Returns the outputs that the segment's backward pass reads, weight gradients included. Only for
// segments that need a gradient.
std::vector<int> backward_inputs_of(const Model& model, int segment);

// Returns by segment the stages that an output passes: the one that computes it, then all that take
// it as input, each once, ascending. Its gradient goes back the same way: each stage adds its part
// to what came from later stages.
std::vector<std::vector<int>> paths_of(const Model& model, const std::vector<Stage>& stages);

}  // namespace trainyard::model
