// SPDX-License-Identifier: GPL-3.0-or-later
// A model in parts: some ranks have some of its segments. What crosses from one to another are
// outputs of segments, and gradients at them.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// What a rank has of a model, by whom (a rank) each segment is on: all segments, but only its own
// have parameters, side by side in flat buffers of their own. Of one that is tied to another's
// weight, and is elsewhere, both ranks have all parameters of that other one; both segments are
// then said to be apart.
Model part_of(const Model& model, const std::vector<int>& owners, int rank);

// Segments in a row on one rank, as many as there are.
struct Stage {
  int first = 0, last = 0, rank = 0;
  bool has(int segment) const { return first <= segment && segment <= last; }
  bool empty() const { return last < first; }
};
std::vector<Stage> stages_of(const std::vector<int>& owners);

// The outputs of earlier segments that a segment computes by, ascending but for the one before it,
// which comes last; -1: the samples themselves.
std::vector<int> inputs_of(const Model& model, int segment);

// Whether the gradient at its input, or that before its activation, depends on its output, or on
// its input.
bool goes_back_by_output(const Segment& segment);
bool goes_back_by_input(const Segment& segment);
// The outputs that its backward pass computes by, with what it learns; of segments whose gradient
// is wanted.
std::vector<int> backward_inputs_of(const Model& model, int segment);

// By segment, the stages that an output passes, by number: where it is made, then all that compute
// by it, each once, ascending. Its gradient goes back the same way: whoever has a part of it adds
// that to what came from further on.
std::vector<std::vector<int>> paths_of(const Model& model, const std::vector<Stage>& stages);

}  // namespace trainyard::model
