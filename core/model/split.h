// SPDX-License-Identifier: GPL-3.0-or-later
// A model whose layers are shared out among ranks that take the same samples: "horizontal" or
// tensor model parallelism (Shoeybi et al. 2019, Megatron-LM).
//
// Two linear layers with nothing between them but what each number, or each head, undergoes by
// itself are a pair: of the first every rank makes some outputs, of the second it takes just these
// as inputs. What the second makes is summed over ranks; so is, on the way back, the gradient at
// the inputs of the first. A table of an embedding is shared out by rows, and what ranks look up is
// summed; a last linear layer that is in no pair by its outputs, the classes. All else every rank
// has, with the same numbers in it. Each element that is split is on one rank; what a split layer
// adds to its sum besides, its bias or places in the sample, is rank 0's.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// By segment, how it is split among so many ranks. Layers that have too little for one each stay
// whole.
std::vector<Split> splits_of(const Model& model, int ranks);

// What a rank has: all segments, of those that are split its part, with the sizes of that.
// Parameters are boxes (model.h); `classes` are its own.
Model split_of(const Model& model, int ranks, int rank);

// Of a segment of such a model: whether its outputs are summed over ranks, the gradient at its
// input is, and whether the activation waits for the former.
inline bool sums_outputs(const Segment& s) {
  return s.split == Split::inputs || s.split == Split::rows;
}
inline bool sums_input_gradient(const Segment& s) { return s.split == Split::outputs; }
inline bool activates_sum(const Segment& s) {
  return s.split == Split::inputs && s.activation != compute::Activation::none;
}
// Whether a rank has logits of some classes only.
inline bool splits_classes(const Model& model) {
  return model.segments.back().split == Split::outputs;
}

// How many numbers a rank says of a row of its logits (compute::SoftmaxSummary).
inline constexpr std::int64_t kSoftmaxSummary = 4;

// Of what a segment of such a model is split by (outputs in a row, inputs or rows), how many the
// rank has; of query, key and value each so many.
std::int64_t split_count(const Model& model, int segment);

// Heads of the first attention that so many ranks cannot share out evenly; 0: all can.
std::int64_t undivided_heads(const Model& model, int ranks);

}  // namespace trainyard::model
