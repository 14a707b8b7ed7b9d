// SPDX-License-Identifier: GPL-3.0-or-later
// Partitioned model: each rank has some of its segments. Ranks send outputs of segments and their
// gradients to each other.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// Returns the local model of a rank. `owners` gives the rank of each segment. The local model has
// all segments, but only local ones have parameters, without gaps in the local flat buffers. If a
// tied segment and its owner are on two ranks, both ranks have the owner's parameters, and both
// segments are marked `apart`.
Model part_of(const Model& model, const std::vector<int>& owners, int rank);

// Stage of a partition: consecutive segments on one rank, as many as possible.
struct Stage {
  int first = 0, last = 0, rank = 0;
  bool has(int segment) const { return first <= segment && segment <= last; }
  bool empty() const { return last < first; }
};
std::vector<Stage> stages_of(const std::vector<int>& owners);

// Returns the inputs of a segment: the indices of the segments whose outputs it takes, ascending;
// -1 stands for the samples. The last one is the preceding segment.
std::vector<int> inputs_of(const Model& model, int segment);

// True if the backward op for the gradient of the segment's input reads the segment's forward
// output (first function) or forward input (second function).
bool backward_needs_output(const Segment& segment);
bool backward_needs_input(const Segment& segment);
// Returns the outputs that the segment's backward pass reads, including those for weight gradients.
// Only for segments that need a gradient.
std::vector<int> backward_inputs_of(const Model& model, int segment);

// Returns, for each segment, the stages that its output passes: the stage that computes it, then
// every stage that takes it as input, ascending. The gradient of the output passes the same stages
// in reverse order. Each stage adds its contribution to the gradient from later stages.
std::vector<std::vector<int>> paths_of(const Model& model, const std::vector<Stage>& stages);

}  // namespace trainyard::model
