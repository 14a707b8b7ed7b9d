// SPDX-License-Identifier: GPL-3.0-or-later
// Segments as ops on Compute.
#pragma once

#include <vector>

#include "core/compute/ops.h"
#include "core/model/model.h"

namespace trainyard::model {

// Tensors of a segment for a batch of B samples. Gradients may be empty if they are not needed;
// tensors that the kind of segment does not use are ignored.
struct SegmentTensors {
  compute::Tensor input, output;                    // [B, inputs], [B, outputs]
  compute::Tensor input_gradient, output_gradient;  // As above.
  compute::Tensor
      parameters;  // Parameters of the segment, or of the segment it is tied to: weight, then bias.
  compute::Tensor gradients;     // Same layout.
  compute::Tensor squared_norm;  // fp64 [1]: of the segment's local gradient; may be empty.
  compute::Tensor samples{};     // Lookup layers: [B, columns of a sample].
  compute::Tensor addend{}, addend_gradient{};  // add
  compute::Tensor partial{};  // Same shape as the input: its gradient before it is accumulated.
  compute::Tensor sums{}, gradient_sums{};   // batch_norm: fp64 [2C+1], [2C].
  compute::Tensor state{};                   // Full flat buffer.
  compute::Tensor sample_numbers{}, step{};  // dropout: int32 [B], fp64 [1].
  std::uint64_t seed = 0;                    // dropout
  compute::Multiplies multiplies{};          // linear, conv2d
};

std::vector<compute::Op> forward(const Segment& segment, const SegmentTensors& tensors);
// The `forward` of batch normalization in two parts, so that the sums can be all-reduced in
// between.
std::vector<compute::Op> batch_statistics(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> normalize(const Segment& segment, const SegmentTensors& tensors);
// For a segment whose outputs are summed over ranks (split.h): the rank's partial sums, and the
// activation after the all-reduce.
std::vector<compute::Op> partial_sums(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> activate_sum(const Segment& segment, const SegmentTensors& tensors);
// Inference: uses running statistics, and drops nothing.
std::vector<compute::Op> evaluate(const Segment& segment, const SegmentTensors& tensors);
// `backward_input` turns the gradient of the segment's output into the gradient before its
// activation, in place, and computes the gradient of its input if `input_gradient` is set. For
// batch normalization `backward_weight` must run first, and does the former.
std::vector<compute::Op> backward_input(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> backward_weight(const Segment& segment, const SegmentTensors& tensors);

}  // namespace trainyard::model
