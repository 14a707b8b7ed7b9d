// SPDX-License-Identifier: GPL-3.0-or-later
// First layer of a rank that holds some feature columns of every sample (vertical sharding).
#pragma once

#include <vector>

#include "core/compute/ops.h"
#include "core/model/segment_ops.h"
#include "core/plan/plan.h"

namespace trainyard::run {

// Tensors of a micro-step in vertical sharding. Letters in the shapes below: R rows of all ranks, B
// local rows, C local columns out of I inputs, O outputs.
struct ColumnTensors {
  plan::Columns columns;
  compute::Tensor input;   // [R, C]
  compute::Tensor packed;  // [O, C]: the local columns of the weights or of their gradient
  compute::Tensor sums, local_sums;            // [R, O], [B, O]: before bias and activation
  compute::Tensor gradients, local_gradients;  // [R, O], [B, O]: before the activation
};

// `t`: tensors of the segment, with the local rows only.
std::vector<compute::Op> partial_products(const model::Segment& segment,
                                          const model::SegmentTensors& t, const ColumnTensors& c);
std::vector<compute::Op> finish_forward(const model::Segment& segment,
                                        const model::SegmentTensors& t, const ColumnTensors& c);
std::vector<compute::Op> scatter_gradient_rows(const model::Segment& segment,
                                               const model::SegmentTensors& t,
                                               const ColumnTensors& c);
// Sets the gradient of the columns of other ranks to zero. The squared norm covers the full
// gradient.
std::vector<compute::Op> backward_columns(const model::Segment& segment,
                                          const model::SegmentTensors& t, const ColumnTensors& c);

}  // namespace trainyard::run
