// SPDX-License-Identifier: GPL-3.0-or-later
// Tensor checks of transformer ops.
#include <fmt/core.h>

#include "core/base/units.h"
#include "core/compute/half_precision.h"
#include "core/compute/op_check.h"

namespace trainyard::compute {
namespace {

template <class AnyRowNorm>
void check_statistics(const AnyRowNorm& op, OpCheck& check) {
  check.require(op.epsilon > 0, "epsilon", fmt::format("is {}", op.epsilon), "a number above 0");
}

// Checks the bias, which only layer normalization has.
void check_shift(std::string_view tensor, const Tensor& found, RowNorm norm, DType dtype,
                 std::int64_t channels, OpCheck& check) {
  if (norm == RowNorm::layer) check.is(tensor, found, dtype, {channels});
  else check.require(found.empty(), tensor, "is present", "no bias, because RMS norm has none");
}

}  // namespace

std::string_view name_of_op(const RowNormForward&) { return "row_norm_forward"; }
void check(const RowNormForward& op, OpCheck& check) {
  const std::int64_t channels = last_extent(op.input);
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("weight", op.weight, wide(dtype), {channels})
      .is("output", op.output, dtype, op.input.shape);
  check_shift("bias", op.bias, op.norm, wide(dtype), channels, check);
  check_statistics(op, check);
}

std::string_view name_of_op(const RowNormBackwardWeight&) { return "row_norm_backward_weight"; }
void check(const RowNormBackwardWeight& op, OpCheck& check) {
  const std::int64_t channels = last_extent(op.input);
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("output_gradient", op.output_gradient, dtype, op.input.shape);
  check.is("weight_gradient", op.weight_gradient, wide(dtype), {channels})
      .is_or_empty("squared_norm", op.squared_norm, DType::fp64, {1});
  check_shift("bias_gradient", op.bias_gradient, op.norm, wide(dtype), channels, check);
  check_statistics(op, check);
}

std::string_view name_of_op(const RowNormBackwardInput&) { return "row_norm_backward_input"; }
void check(const RowNormBackwardInput& op, OpCheck& check) {
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("output_gradient", op.output_gradient, dtype, op.input.shape);
  check.is("weight", op.weight, wide(dtype), {last_extent(op.input)})
      .is("input_gradient", op.input_gradient, dtype, op.input.shape);
  check_statistics(op, check);
}

std::string_view name_of_op(const GeluForward&) { return "gelu_forward"; }
void check(const GeluForward& op, OpCheck& check) {
  check.floating("input", op.input).is("output", op.output, op.input.dtype, op.input.shape);
}

std::string_view name_of_op(const GeluBackward&) { return "gelu_backward"; }
void check(const GeluBackward& op, OpCheck& check) {
  check.floating("input", op.input)
      .is("output_gradient", op.output_gradient, op.input.dtype, op.input.shape);
  check.is("input_gradient", op.input_gradient, op.input.dtype, op.input.shape);
}

namespace {

// Returns the output shape of attention for an input [B,T,3D].
Shape heads_together(const Tensor& input) {
  return {input.shape[0], input.shape[1], input.shape[2] / 3};
}

void check_heads(const Tensor& input, std::int64_t heads, OpCheck& check) {
  const Shape& shape = input.shape;
  const bool fits = shape.dimensions == 3 && shape[0] >= 0 && shape[1] > 0 && heads > 0 &&
                    shape[2] > 0 && shape[2] % (3 * heads) == 0;
  check.floating("input", input)
      .require(
          fits, "input", fmt::format("is {}", to_text(input.dtype, shape)),
          fmt::format("[samples, rows, 3 x heads x width] with {}", base::counted(heads, "head")));
}

}  // namespace

std::string_view name_of_op(const AttentionForward&) { return "attention_forward"; }
void check(const AttentionForward& op, OpCheck& check) {
  check_heads(op.input, op.heads, check);
  check.is("output", op.output, op.input.dtype, heads_together(op.input));
}

std::string_view name_of_op(const AttentionBackward&) { return "attention_backward"; }
void check(const AttentionBackward& op, OpCheck& check) {
  check_heads(op.input, op.heads, check);
  check.is("output", op.output, op.input.dtype, heads_together(op.input));
  check.is("output_gradient", op.output_gradient, op.input.dtype, heads_together(op.input));
  check.is("input_gradient", op.input_gradient, op.input.dtype, op.input.shape);
}

}  // namespace trainyard::compute
