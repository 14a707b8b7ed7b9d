// SPDX-License-Identifier: GPL-3.0-or-later
// A segment as ops on Compute.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

// Where a segment finds its tensors when `samples` samples pass. Gradients may be empty where they
// are not wanted; what the kind of segment has no use for is not looked at.
struct SegmentTensors {
  compute::Tensor input, output;                    // [B, inputs], [B, outputs]
  compute::Tensor input_gradient, output_gradient;  // as above
  compute::Tensor
      parameters;  // of the segment, or those that it is tied to: its weight, then its bias
  compute::Tensor gradients;     // of these, alike
  compute::Tensor squared_norm;  // fp64 [1]: of the segment's own gradient; may be empty
  compute::Tensor samples{};     // one that looks up: [B, columns of a sample]
  compute::Tensor addend{}, addend_gradient{};  // add
  compute::Tensor partial{};  // as the input: its gradient before it is added to what is there
  compute::Tensor sums{}, gradient_sums{};   // batch_norm: fp64 [2C+1], [2C]
  compute::Tensor state{};                   // the flat buffer, whole
  compute::Tensor sample_numbers{}, step{};  // dropout: int32 [B], fp64 [1]
  std::uint64_t seed = 0;                    // dropout
  compute::Multiplies multiplies{};          // linear, conv2d
};

std::vector<compute::Op> forward(const Segment& segment, const SegmentTensors& tensors);
// A batch normalisation's `forward` in two parts, so that its sums can be those of all ranks when
// they are normalised by.
std::vector<compute::Op> batch_statistics(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> normalise(const Segment& segment, const SegmentTensors& tensors);
// Of one whose outputs are summed over ranks (split.h): what the rank has of them, and once they
// are summed their activation.
std::vector<compute::Op> partial_sums(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> activate_sum(const Segment& segment, const SegmentTensors& tensors);
// As it is used once trained: running statistics, and nothing is dropped.
std::vector<compute::Op> evaluate(const Segment& segment, const SegmentTensors& tensors);
// Turns the gradient at the segment's output into the one before its activation, in place, and, if
// `input_gradient` is there, into the gradient at its input. Of a batch normalisation
// `backward_weight` goes first, and does the former.
std::vector<compute::Op> backward_input(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> backward_weight(const Segment& segment, const SegmentTensors& tensors);

}  // namespace trainyard::model
