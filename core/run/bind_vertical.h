// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank with some feature columns of every sample computes of the first layer.
#pragma once

#include <vector>

#include "core/compute/ops.h"
#include "core/model/segment_ops.h"
#include "core/plan/plan.h"

namespace trainyard::run {

// Of the rows of all ranks in a micro-step, R, and of these the rank's own, B; C columns of I, O
// outputs.
struct ColumnTensors {
  plan::Columns columns;
  compute::Tensor input;           // [R, C]
  compute::Tensor packed;          // [O, C]: of the weights, or of their gradient, the own columns
  compute::Tensor sums, own_sums;  // [R, O], [B, O]: before bias and activation
  compute::Tensor gradients, own_gradients;  // [R, O], [B, O]: before the activation
};

// `t` is as of any segment, of the own rows.
std::vector<compute::Op> partial_products(const model::Segment& segment,
                                          const model::SegmentTensors& t, const ColumnTensors& c);
std::vector<compute::Op> finish_forward(const model::Segment& segment,
                                        const model::SegmentTensors& t, const ColumnTensors& c);
std::vector<compute::Op> hand_out_gradient(const model::Segment& segment,
                                           const model::SegmentTensors& t, const ColumnTensors& c);
// Zero in the columns of others. Its squared norm is that of all of it.
std::vector<compute::Op> backward_columns(const model::Segment& segment,
                                          const model::SegmentTensors& t, const ColumnTensors& c);

}  // namespace trainyard::run
