// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/bind_vertical.h"

namespace trainyard::run {
namespace {

using compute::Shape;
using compute::Tensor;

Tensor part(const Tensor& flat, std::int64_t offset, const Shape& shape) {
  return {flat.dtype, shape, flat.data + offset * compute::size_of(flat.dtype)};
}
Tensor flat(Tensor tensor) {
  tensor.shape = {tensor.elements()};
  return tensor;
}

}  // namespace

std::vector<compute::Op> partial_products(const model::Segment& s, const model::SegmentTensors& t,
                                          const ColumnTensors& c) {
  return {compute::CopyColumns{part(t.parameters, 0, s.weight_shape()), c.packed, c.columns.first,
                               0, c.columns.count},
          compute::LinearForward{
              c.input, c.packed, {}, c.sums, compute::Activation::none, t.multiplies}};
}

std::vector<compute::Op> finish_forward(const model::Segment& s, const model::SegmentTensors& t,
                                        const ColumnTensors& c) {
  return {
      compute::AddBias{c.local_sums, part(t.parameters, 0, {s.outputs}), t.output, s.activation}};
}

std::vector<compute::Op> scatter_gradient_rows(const model::Segment& s,
                                               const model::SegmentTensors& t,
                                               const ColumnTensors& c) {
  std::vector<compute::Op> ops;
  if (s.activation != compute::Activation::none)
    ops.emplace_back(compute::ActivationBackward{t.output, t.output_gradient, s.activation});
  ops.emplace_back(compute::Copy{t.output_gradient, c.local_gradients});
  return ops;
}

// Computes the weight gradient over the rows of all ranks. The same op computes a bias gradient
// over all rows, which is equal on every rank. It is then overwritten by the bias gradient of the
// local rows.
std::vector<compute::Op> backward_columns(const model::Segment& s, const model::SegmentTensors& t,
                                          const ColumnTensors& c) {
  const Tensor of_weight = part(t.gradients, 0, s.weight_shape()),
               of_bias = part(t.gradients, s.bias_offset() - s.first, {s.outputs});
  std::vector<compute::Op> ops{
      compute::LinearBackwardWeight{c.input, c.gradients, c.packed, of_bias, {}, t.multiplies},
      compute::SumRows{c.local_gradients, of_bias}, compute::Zero{flat(of_weight)},
      compute::CopyColumns{c.packed, of_weight, 0, c.columns.first, c.columns.count}};
  if (!t.squared_norm.empty()) ops.emplace_back(compute::SquaredNorm{t.gradients, t.squared_norm});
  return ops;
}

}  // namespace trainyard::run
