// SPDX-License-Identifier: GPL-3.0-or-later
// Tensor checks of ops on images and of ops between layers.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "core/compute/half_precision.h"
#include "core/compute/op_check.h"

namespace trainyard::compute {
namespace {

void check_window(const Window& window, OpCheck& check) {
  check.require(window.kernel >= 1, "kernel", fmt::format("is {}", window.kernel), "1 or more");
  check.require(window.stride >= 1, "stride", fmt::format("is {}", window.stride), "1 or more");
  check.require(window.padding >= 0, "padding", fmt::format("is {}", window.padding), "0 or more");
}

// Checks the shape [B,H',W',out_channels] of the result of sliding the window over `image`
// [B,H,W,C].
void check_slide(const char* outer, const Tensor& result, const Tensor& image, const Window& window,
                 std::int64_t out_channels, OpCheck& check) {
  const std::int64_t shorter = std::min(image.shape[1], image.shape[2]);
  check.require(shorter + 2 * window.padding >= window.kernel, "kernel",
                fmt::format("is {}", window.kernel),
                fmt::format("1 to {}", shorter + 2 * window.padding));
  if (!check.result()) return;  // The output shape is undefined for an invalid window.
  check.is(outer, result, image.dtype,
           {image.shape[0], window.outputs(image.shape[1]), window.outputs(image.shape[2]),
            out_channels});
}

void check_convolution(const Tensor& weight, DType of_weight, const char* inner,
                       const Tensor& image, const char* outer, const Tensor& result,
                       const Window& window, OpCheck& check) {
  check_window(window, check);
  check.image(inner, image).image(outer, result).floating("weight", weight);
  check.is("weight", weight, of_weight,
           {result.shape[3], image.shape[3], window.kernel, window.kernel});
  check_slide(outer, result, image, window, result.shape[3], check);
}

void check_pool(const char* inner, const Tensor& image, const char* outer, const Tensor& result,
                const Window& window, OpCheck& check) {
  check_window(window, check);
  check.require(2 * window.padding <= window.kernel, "padding",
                fmt::format("is {}", window.padding), "0 to half the kernel");
  check.image(inner, image);
  check_slide(outer, result, image, window, image.shape[3], check);
}

}  // namespace

std::string_view name_of_op(const Conv2dForward&) { return "conv2d_forward"; }
void check(const Conv2dForward& op, OpCheck& check) {
  check_convolution(op.weight, op.input.dtype, "input", op.input, "output", op.output, op.window,
                    check);
  check.is("bias", op.bias, op.input.dtype, {op.output.shape[3]})
      .multiplies(op.multiplies, op.input.dtype);
}

std::string_view name_of_op(const Conv2dBackwardInput&) { return "conv2d_backward_input"; }
void check(const Conv2dBackwardInput& op, OpCheck& check) {
  check_convolution(op.weight, op.input_gradient.dtype, "input_gradient", op.input_gradient,
                    "output_gradient", op.output_gradient, op.window, check);
  check.multiplies(op.multiplies, op.weight.dtype);
}

std::string_view name_of_op(const Conv2dBackwardWeight&) { return "conv2d_backward_weight"; }
void check(const Conv2dBackwardWeight& op, OpCheck& check) {
  check_convolution(op.weight_gradient, wide(op.input.dtype), "input", op.input, "output_gradient",
                    op.output_gradient, op.window, check);
  check.is("bias_gradient", op.bias_gradient, wide(op.input.dtype), {op.output_gradient.shape[3]});
  check.is_or_empty("squared_norm", op.squared_norm, DType::fp64, {1})
      .multiplies(op.multiplies, op.input.dtype);
}

std::string_view name_of_op(const PoolForward&) { return "pool_forward"; }
void check(const PoolForward& op, OpCheck& check) {
  check_pool("input", op.input, "output", op.output, op.window, check);
}

std::string_view name_of_op(const PoolBackward&) { return "pool_backward"; }
void check(const PoolBackward& op, OpCheck& check) {
  check_pool("input_gradient", op.input_gradient, "output_gradient", op.output_gradient, op.window,
             check);
  if (op.pooling == Pooling::average) return;
  check.is("input", op.input, op.input_gradient.dtype, op.input_gradient.shape)
      .is("output", op.output, op.output_gradient.dtype, op.output_gradient.shape);
}

std::string_view name_of_op(const BatchNormSums&) { return "batch_norm_sums"; }
void check(const BatchNormSums& op, OpCheck& check) {
  check.channels("input", op.input)
      .is("sums", op.sums, DType::fp64, {2 * last_extent(op.input) + 1});
}

std::string_view name_of_op(const BatchNormForward&) { return "batch_norm_forward"; }
void check(const BatchNormForward& op, OpCheck& check) {
  const std::int64_t channels = last_extent(op.input);
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("weight", op.weight, wide(dtype), {channels})
      .is("bias", op.bias, wide(dtype), {channels});
  check.is("sums", op.sums, DType::fp64, {2 * channels + 1})
      .is_or_empty("running", op.running, wide(dtype), {2, channels});
  check.is("output", op.output, dtype, op.input.shape);
  check.require(op.epsilon > 0, "epsilon", fmt::format("is {}", op.epsilon), "a number above 0");
  check.require(op.momentum >= 0 && op.momentum <= 1, "momentum", fmt::format("is {}", op.momentum),
                "[0, 1]");
}

std::string_view name_of_op(const BatchNormEvaluate&) { return "batch_norm_evaluate"; }
void check(const BatchNormEvaluate& op, OpCheck& check) {
  const std::int64_t channels = last_extent(op.input);
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("weight", op.weight, wide(dtype), {channels})
      .is("bias", op.bias, wide(dtype), {channels});
  check.is("running", op.running, wide(dtype), {2, channels})
      .is("output", op.output, dtype, op.input.shape);
  check.require(op.epsilon > 0, "epsilon", fmt::format("is {}", op.epsilon), "a number above 0");
}

std::string_view name_of_op(const BatchNormBackwardWeight&) { return "batch_norm_backward_weight"; }
void check(const BatchNormBackwardWeight& op, OpCheck& check) {
  const std::int64_t channels = last_extent(op.input);
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("output_gradient", op.output_gradient, dtype, op.input.shape);
  check.is("sums", op.sums, DType::fp64, {2 * channels + 1})
      .is("gradient_sums", op.gradient_sums, DType::fp64, {2 * channels});
  check.is("weight_gradient", op.weight_gradient, wide(dtype), {channels})
      .is("bias_gradient", op.bias_gradient, wide(dtype), {channels});
  check.is_or_empty("squared_norm", op.squared_norm, DType::fp64, {1});
  check.require(op.epsilon > 0, "epsilon", fmt::format("is {}", op.epsilon), "a number above 0");
}

std::string_view name_of_op(const BatchNormBackwardInput&) { return "batch_norm_backward_input"; }
void check(const BatchNormBackwardInput& op, OpCheck& check) {
  const std::int64_t channels = last_extent(op.input);
  const DType dtype = op.input.dtype;
  check.channels("input", op.input)
      .is("output_gradient", op.output_gradient, dtype, op.input.shape)
      .is("weight", op.weight, wide(dtype), {channels});
  check.is("sums", op.sums, DType::fp64, {2 * channels + 1})
      .is("gradient_sums", op.gradient_sums, DType::fp64, {2 * channels});
  check.is("input_gradient", op.input_gradient, dtype, op.input.shape);
  check.require(op.epsilon > 0, "epsilon", fmt::format("is {}", op.epsilon), "a number above 0");
}

std::string_view name_of_op(const Dropout&) { return "dropout"; }
void check(const Dropout& op, OpCheck& check) {
  check.channels("input", op.input).is("output", op.output, op.input.dtype, op.input.shape);
  check.is("samples", op.samples, DType::int32, {op.input.shape[0]})
      .is("step", op.step, DType::fp64, {1});
  check.require(op.probability >= 0 && op.probability < 1, "probability",
                fmt::format("is {}", op.probability), "[0, 1)");
}

std::string_view name_of_op(const Add&) { return "add"; }
void check(const Add& op, OpCheck& check) {
  check.floating("left", op.left)
      .is("right", op.right, op.left.dtype, op.left.shape)
      .is("output", op.output, op.left.dtype, op.left.shape);
}

std::string_view name_of_op(const Accumulate&) { return "accumulate"; }
void check(const Accumulate& op, OpCheck& check) {
  check.floating("input", op.input).is("output", op.output, op.input.dtype, op.input.shape);
}

std::string_view name_of_op(const Copy&) { return "copy"; }
void check(const Copy& op, OpCheck& check) {
  const bool converts = wide(op.input.dtype) == wide(op.output.dtype) &&
                        is_half(op.input.dtype) != is_half(op.output.dtype);
  check.floating("input", op.input)
      .floating("output", op.output)
      .is("output", op.output, converts ? op.output.dtype : op.input.dtype, op.input.shape);
}

std::string_view name_of_op(const Scale&) { return "scale"; }
void check(const Scale& op, OpCheck& check) {
  check.full("input", op.input).is("output", op.output, op.input.dtype, op.input.shape);
}

std::string_view name_of_op(const WeightedSum&) { return "weighted_sum"; }
void check(const WeightedSum& op, OpCheck& check) {
  check.full("output", op.output);
  check.require(!op.inputs.empty() && op.inputs.size() == op.weights.size(), "weights",
                fmt::format("are {} for {}", op.weights.size(),
                            base::counted(std::ssize(op.inputs), "input")),
                "one weight per input, and at least one input");
  for (const Tensor& input : op.inputs) check.is("input", input, op.output.dtype, op.output.shape);
  for (const double weight : op.weights)
    check.require(std::isfinite(weight), "weights", "contain a number that is not finite",
                  "finite numbers");
}

}  // namespace trainyard::compute
