// SPDX-License-Identifier: GPL-3.0-or-later
// Tensor model parallelism (Shoeybi et al. 2019, Megatron-LM): layers split among ranks that take
// the same samples.
//
// Two linear layers form a pair if only operations per element or per head are between them. Each
// rank computes some outputs of the first layer, and takes exactly these as inputs of the second.
// The outputs of the second layer are all-reduced, and backward the input gradients of the first.
// The table of an embedding is split by rows, and looked-up rows are all-reduced. A last linear
// layer that is in no pair is split by outputs (classes). Every rank has all other layers, with
// identical values. Each element that is split is on one rank. Biases and positions of a split
// layer that are added to a sum are on rank 0.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// Returns how each segment is split among `ranks`. Layers too small for one unit per rank are not
// split.
std::vector<Split> splits_of(const Model& model, int ranks);

// Returns the local model of a rank: all segments, with split ones at the size of the rank's part.
// Parameters are boxes (model.h); `classes` counts local classes.
Model split_of(const Model& model, int ranks, int rank);

// For a segment of a split model: true if its outputs are all-reduced, if its input gradient is,
// and if the activation must follow the all-reduce of outputs.
inline bool sums_outputs(const Segment& s) {
  return s.split == Split::inputs || s.split == Split::rows;
}
inline bool sums_input_gradient(const Segment& s) { return s.split == Split::outputs; }
inline bool activates_sum(const Segment& s) {
  return s.split == Split::inputs && s.activation != compute::Activation::none;
}
// True if a rank has logits of some classes only.
inline bool splits_classes(const Model& model) {
  return model.segments.back().split == Split::outputs;
}

// Numbers that a rank contributes per row of its logits (`compute::SoftmaxSummary`).
inline constexpr std::int64_t kSoftmaxSummary = 4;

// Returns how many outputs (per row), inputs or rows of a split segment the rank has; for query,
// key and value the number of each.
std::int64_t split_count(const Model& model, int segment);

// Returns the heads of the first attention that cannot be divided evenly by `ranks`; 0 if all can.
std::int64_t undivided_heads(const Model& model, int ranks);

}  // namespace trainyard::model
