// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions by a library of the device, or else by im2col columns and matrix products.
#pragma once

#include <utility>

#include "backends/cuda/module/kernels/convolution_columns.h"

namespace trainyard::cuda {

// Prepared copies of tensors to and from temporary memory, which run before and after a
// convolution.
struct ConversionSteps {
  std::vector<Run> before, after;
  std::vector<Memory> memory;
};

inline base::Result<Tensor> allocate_padded(Device& device, DType dtype, const Shape& shape,
                                            ConversionSteps& around) {
  auto padded_copy = allocate(device, dtype, shape);
  if (!padded_copy) return base::fail(padded_copy.error());
  around.memory.push_back(std::move(padded_copy->memory));
  return padded_copy->tensor;
}

// Makes a convolution use an aligned copy of a tensor in temporary memory, if the tensor is not
// aligned for the device.
template <class W>
base::Result<void> align(Device& device, Tensor& tensor, bool is_made, ConversionSteps& around) {
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % Convolution::kAlignment == 0) return {};
  const auto padded_copy = allocate_padded(device, tensor.dtype, tensor.shape, around);
  if (!padded_copy) return base::fail(padded_copy.error());
  if (is_made) around.after.push_back(run_of<W>(compute::Copy{*padded_copy, tensor}));
  else around.before.push_back(run_of<W>(compute::Copy{tensor, *padded_copy}));
  tensor = *padded_copy;
  return {};
}

// Returns the index in [O,K,K,I] of element i of a weight [O,I,K,K].
ON_DEVICE inline std::int64_t channels_last_index(const Shape& weight, std::int64_t i) {
  const std::int64_t inputs = weight[1], area = weight[2] * weight[3];
  return (i / (inputs * area) * area + i % area) * inputs + i / area % inputs;
}

template <class W>
void to_channels_last(Stream& stream, const Tensor& weight, const Tensor& laid) {
  for_each(stream, weight.elements(), [=] ON_DEVICE(std::int64_t i) {
    put(laid, channels_last_index(weight.shape, i), get<W>(weight, i));
  });
}
template <class W>
void from_channels_last(Stream& stream, const Tensor& laid, const Tensor& weight) {
  for_each(stream, weight.elements(), [=] ON_DEVICE(std::int64_t i) {
    put(weight, i, get<W>(laid, channels_last_index(weight.shape, i)));
  });
}

// Converts a weight to or from the channels-last layout, through temporary memory.
template <class W>
base::Result<void> convert_weight(Device& device, Tensor& weight, bool is_made,
                                  ConversionSteps& around) {
  const Tensor original = weight;
  const auto laid =
      allocate_padded(device, weight.dtype,
                      {weight.shape[0], weight.shape[2], weight.shape[3], weight.shape[1]}, around);
  if (!laid) return base::fail(laid.error());
  weight = *laid;
  if (is_made)
    around.after.emplace_back(
        [original, weight](Stream& stream) { from_channels_last<W>(stream, weight, original); });
  else
    around.before.emplace_back(
        [original, weight](Stream& stream) { to_channels_last<W>(stream, original, weight); });
  return {};
}

// Prepares the convolution of tensors in the layout of ops, with a library of the device. Returns
// nullopt if the device does not support it.
template <class W>
base::Result<std::optional<Run>> prepare_with_library(Device& device, Convolution op,
                                                      Multiplies multiplies) {
  using Target = Convolution::Target;
  const DType dtype = op.input.dtype;
  if (multiplies == Multiplies::bfloat16 || dtype == DType::fp64 || op.weight.dtype != dtype ||
      op.output.elements() == 0)
    return std::nullopt;
  op.tf32 = multiplies == Multiplies::tf32;
  ConversionSteps around;
  base::Result<void> fits = align<W>(device, op.input, op.target == Target::input_gradient, around);
  if (fits) fits = align<W>(device, op.output, op.target == Target::output, around);
  if (fits) fits = align<W>(device, op.bias, false, around);
  if (fits)
    fits = convert_weight<W>(device, op.weight, op.target == Target::weight_gradient, around);
  if (!fits) return base::fail(fits.error());
  auto work = device.convolution(op);
  if (!work || !*work) return work;
  around.before.push_back(std::move(**work));
  for (Run& one : around.after) around.before.push_back(std::move(one));
  return keeping(std::move(around.memory), in_order(std::move(around.before)));
}

// Prepares a forward convolution. If the device cannot fuse bias and activation, they are applied
// afterwards. This is not done for 16-bit results, because the result must be rounded only once.
template <class W>
base::Result<Run> make(Device& device, const compute::Conv2dForward& op) {
  auto whole = prepare_with_library<W>(device,
                                       {Convolution::Target::output, op.input, op.weight, op.output,
                                        op.window, op.bias, op.activation},
                                       op.multiplies);
  if (!whole) return base::fail(whole.error());
  if (*whole) return std::move(**whole);
  if (compute::is_half(op.output.dtype)) return by_columns<W>(device, op);
  auto sums = prepare_with_library<W>(
      device, {Convolution::Target::output, op.input, op.weight, op.output, op.window},
      op.multiplies);
  if (!sums) return base::fail(sums.error());
  if (!*sums) return by_columns<W>(device, op);
  const Tensor output = as_rows(op.output);
  return in_order(
      {std::move(**sums), run_of<W>(compute::AddBias{output, op.bias, output, op.activation})});
}

template <class W>
base::Result<Run> make(Device& device, const compute::Conv2dBackwardInput& op) {
  auto whole = prepare_with_library<W>(device,
                                       {Convolution::Target::input_gradient, op.input_gradient,
                                        op.weight, op.output_gradient, op.window},
                                       op.multiplies);
  if (!whole) return base::fail(whole.error());
  return *whole ? std::move(**whole) : by_columns<W>(device, op);
}

template <class W>
base::Result<Run> make(Device& device, const compute::Conv2dBackwardWeight& op) {
  auto whole = prepare_with_library<W>(device,
                                       {Convolution::Target::weight_gradient, op.input,
                                        op.weight_gradient, op.output_gradient, op.window},
                                       op.multiplies);
  if (!whole) return base::fail(whole.error());
  if (!*whole) return by_columns<W>(device, op);
  auto rest = make_bias_and_norm<W>(device, as_rows(op.output_gradient), op.weight_gradient,
                                    op.bias_gradient, op.squared_norm);
  if (!rest) return rest;
  return in_order({std::move(**whole), std::move(*rest)});
}

}  // namespace trainyard::cuda
