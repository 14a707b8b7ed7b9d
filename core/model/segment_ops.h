// SPDX-License-Identifier: GPL-3.0-or-later
// Translates the passes of segments to ops on Compute.
#pragma once

#include <vector>

#include "core/compute/ops.h"
#include "core/model/model.h"

namespace trainyard::model {

// Tensors that a segment reads and writes for a batch of B samples. Gradients may be empty if they
// are not needed; tensors that the kind of segment does not use are ignored.
struct SegmentTensors {
  compute::Tensor input, output;  // [B, inputs], [B, outputs]
  // Gradients of `input` and `output`, with their shapes.
  compute::Tensor input_gradient, output_gradient;
  compute::Tensor
      parameters;  // Parameters of the segment, or of the segment it is tied to: weight, then bias.
  compute::Tensor gradients;  // Gradients of the parameters, with the same layout as `parameters`.
  // fp64 [1]: squared norm of the segment's local gradient; may be empty.
  compute::Tensor squared_norm;
  compute::Tensor samples{};                    // Lookup layers: [B, columns of a sample].
  compute::Tensor addend{}, addend_gradient{};  // add: output of the addend, and its gradient
  compute::Tensor partial{};  // Gradient of the input before it is added; same shape as the input.
  compute::Tensor sums{}, gradient_sums{};   // batch_norm: fp64 [2C+1], [2C].
  compute::Tensor state{};                   // Full flat state buffer.
  compute::Tensor sample_numbers{}, step{};  // dropout: int32 [B], fp64 [1].
  std::uint64_t seed = 0;                    // dropout
  compute::Multiplies multiplies{};          // linear, conv2d
};

std::vector<compute::Op> forward(const Segment& segment, const SegmentTensors& tensors);
// Forward pass of batch normalization in two parts: the sums over samples, and the normalization.
// Between the parts, the sums can be all-reduced.
std::vector<compute::Op> batch_statistics(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> normalize(const Segment& segment, const SegmentTensors& tensors);
// Forward pass of a segment whose outputs are summed over ranks (split.h), in two parts: the rank's
// partial sums, and the activation after the all-reduce.
std::vector<compute::Op> partial_sums(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> activate_sum(const Segment& segment, const SegmentTensors& tensors);
// Forward pass for inference: uses running statistics, and drops no elements.
std::vector<compute::Op> evaluate(const Segment& segment, const SegmentTensors& tensors);
// `backward_input` replaces the gradient of the segment's output, in place, by the gradient before
// its activation. If `input_gradient` is set, it also computes the gradient of the segment's input.
// For batch normalization, `backward_weight` must run first; it replaces the gradient instead.
std::vector<compute::Op> backward_input(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> backward_weight(const Segment& segment, const SegmentTensors& tensors);

}  // namespace trainyard::model
