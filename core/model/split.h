// SPDX-License-Identifier: GPL-3.0-or-later
// Tensor parallelism (Shoeybi et al. 2019, Megatron-LM): layers are split among ranks that take the
// same samples.
//
// Two linear layers form a pair if only operations per element or per head are between them. Each
// rank computes some outputs of the first layer, which are its inputs of the second layer. The
// outputs of the second layer are all-reduced; in the backward pass, so are the input gradients of
// the first. The table of an embedding is split by rows, and looked-up rows are all-reduced. A last
// linear layer that is in no pair is split by outputs (classes). Every rank has all other layers in
// full, with identical values. Each element of a split layer is on one rank. If the output of a
// split layer is a sum over ranks, rank 0 adds its bias or positions.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// Returns how each segment is split among `ranks`. A layer is not split if it has fewer units than
// there are ranks.
std::vector<Split> splits_of(const Model& model, int ranks);

// Returns the local model of a rank. It has all segments. A split segment has the size of the
// rank's part, and its parameters are boxes (model.h). `classes` is the number of local classes.
Model split_of(const Model& model, int ranks, int rank);

// Properties of a segment of a split model. `sums_outputs`: its outputs are all-reduced. The other
// functions tell whether its input gradient is all-reduced, and whether its activation must follow
// the all-reduce of its outputs.
inline bool sums_outputs(const Segment& s) {
  return s.split == Split::inputs || s.split == Split::rows;
}
inline bool sums_input_gradient(const Segment& s) { return s.split == Split::outputs; }
inline bool activates_sum(const Segment& s) {
  return s.split == Split::inputs && s.activation != compute::Activation::none;
}
// True if a rank has the logits of only some classes.
inline bool splits_classes(const Model& model) {
  return model.segments.back().split == Split::outputs;
}

// Numbers that a rank contributes per row of its logits (`compute::SoftmaxSummary`).
inline constexpr std::int64_t kSoftmaxSummary = 4;

// Returns the number of outputs (per row), inputs or rows of a split segment that this rank has. If
// the outputs are query, key and value, returns the number of each.
std::int64_t split_count(const Model& model, int segment);

// Returns the number of heads of the first attention whose heads cannot be divided evenly among
// `ranks`; 0 if there is none.
std::int64_t undivided_heads(const Model& model, int ranks);

}  // namespace trainyard::model
