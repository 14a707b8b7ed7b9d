// SPDX-License-Identifier: GPL-3.0-or-later
// The ops on images, and those that lie between layers, on made-up tensors.
#pragma once

#include "core/compute/ops.h"
#include "core/compute/reference/reference.h"
#include "tests/conformance/compute_case.h"

namespace trainyard::conformance {

struct ImageSizes {
  std::int64_t batch, height, width, channels, outputs;
  compute::Window window;

  Shape image() const { return {batch, height, width, channels}; }
  Shape result(std::int64_t depth) const {
    return {batch, window.outputs(height), window.outputs(width), depth};
  }
  Shape weight() const { return {outputs, channels, window.kernel, window.kernel}; }
};

// Odd extents, one sample, one channel, none; strides, paddings, windows of the whole image and of
// a pixel.
inline const std::vector<ImageSizes> kImages = {
    {1, 1, 1, 1, 1, {1, 1, 0}},    {0, 5, 4, 3, 2, {3, 1, 1}},   {1, 7, 5, 1, 3, {3, 1, 0}},
    {2, 5, 7, 3, 1, {3, 2, 1}},    {3, 6, 6, 8, 16, {3, 1, 1}},  {1, 4, 4, 17, 33, {1, 1, 0}},
    {2, 9, 11, 5, 7, {5, 3, 2}},   {5, 3, 3, 20, 9, {3, 1, 0}},  {2, 13, 13, 32, 64, {3, 1, 0}},
    {4, 28, 28, 1, 32, {3, 1, 0}}, {2, 8, 8, 13, 23, {2, 2, 0}}, {2, 7, 7, 16, 16, {3, 2, 1}}};

using MakeImageCase = std::function<Case(Values&, DType, const ImageSizes&)>;

inline Case conv2d_forward(Values& values, DType dtype, const ImageSizes& s,
                           compute::Activation activation) {
  const Tensor output = values.uniform(dtype, s.result(s.outputs));
  return {
      compute::Conv2dForward{values.uniform(dtype, s.image()), values.uniform(dtype, s.weight()),
                             values.uniform(dtype, {s.outputs}), output, s.window, activation},
      {{"output", output}}};
}

inline Case conv2d_backward_input(Values& values, DType dtype, const ImageSizes& s) {
  const Tensor result = values.uniform(dtype, s.image());
  return {compute::Conv2dBackwardInput{values.uniform(dtype, s.result(s.outputs)),
                                       values.uniform(dtype, s.weight()), result, s.window},
          {{"input_gradient", result}}};
}

inline Case conv2d_backward_weight(Values& values, DType dtype, const ImageSizes& s) {
  const Tensor weight = values.uniform(dtype, s.weight()),
               bias = values.uniform(dtype, {s.outputs}), norm = values.scalar(-1);
  return {compute::Conv2dBackwardWeight{values.uniform(dtype, s.image()),
                                        values.uniform(dtype, s.result(s.outputs)), weight, bias,
                                        norm, s.window},
          {{"weight_gradient", weight}, {"bias_gradient", bias}, {"squared_norm", norm}}};
}

inline Case pool_forward(Values& values, DType dtype, const ImageSizes& s,
                         compute::Pooling pooling) {
  const Tensor output = values.uniform(dtype, s.result(s.channels));
  return {compute::PoolForward{values.uniform(dtype, s.image()), output, s.window, pooling},
          {{"output", output}}};
}

// Runs a real forward first, because the output must occur among the inputs.
inline Case pool_backward(Values& values, DType dtype, const ImageSizes& s,
                          compute::Pooling pooling) {
  const Tensor input = values.uniform(dtype, s.image()),
               output = values.uniform(dtype, s.result(s.channels)),
               result = values.uniform(dtype, s.image());
  run(*compute::reference::make(), compute::PoolForward{input, output, s.window, pooling});
  return {compute::PoolBackward{input, output, values.uniform(dtype, s.result(s.channels)), result,
                                s.window, pooling},
          {{"input_gradient", result}}};
}

// Batch normalization of `shape`, with sums that belong to the input.
struct BatchNormTensors {
  Tensor input, gradient, weight, bias, sums, gradient_sums, running;
};

inline BatchNormTensors batch_norm_tensors(Values& values, DType dtype, const Shape& shape) {
  const std::int64_t channels = shape[shape.dimensions - 1];
  const BatchNormTensors t{values.uniform(dtype, shape),
                           values.uniform(dtype, shape),
                           values.uniform(dtype, {channels}, 0.5, 2),
                           values.uniform(dtype, {channels}),
                           values.zeros(DType::fp64, {2 * channels + 1}),
                           values.zeros(DType::fp64, {2 * channels}),
                           values.uniform(dtype, {2, channels}, 0.5, 2)};
  const auto reference = compute::reference::make();
  run(*reference, compute::BatchNormSums{t.input, t.sums});
  run(*reference, compute::BatchNormBackwardWeight{t.input,
                                                   t.gradient,
                                                   t.sums,
                                                   values.zeros(dtype, {channels}),
                                                   values.zeros(dtype, {channels}),
                                                   t.gradient_sums,
                                                   {}});
  return t;
}

inline Case batch_norm_sums(Values& values, DType dtype, const Shape& shape) {
  const Tensor sums = values.uniform(DType::fp64, {2 * shape[shape.dimensions - 1] + 1});
  return {compute::BatchNormSums{values.uniform(dtype, shape), sums}, {{"sums", sums}}};
}

inline Case batch_norm_forward(Values& values, DType dtype, const Shape& shape,
                               compute::Activation activation) {
  const BatchNormTensors t = batch_norm_tensors(values, dtype, shape);
  const Tensor output = values.uniform(dtype, shape);
  return {compute::BatchNormForward{t.input, t.weight, t.bias, t.sums, t.running, output, 1e-3,
                                    0.25, activation},
          {{"output", output}, {"running", t.running}}};
}

inline Case batch_norm_evaluate(Values& values, DType dtype, const Shape& shape,
                                compute::Activation activation) {
  const BatchNormTensors t = batch_norm_tensors(values, dtype, shape);
  const Tensor output = values.uniform(dtype, shape);
  return {
      compute::BatchNormEvaluate{t.input, t.weight, t.bias, t.running, output, 1e-3, activation},
      {{"output", output}}};
}

inline Case batch_norm_backward_weight(Values& values, DType dtype, const Shape& shape) {
  const BatchNormTensors t = batch_norm_tensors(values, dtype, shape);
  const Tensor weight = values.uniform(dtype, t.weight.shape),
               bias = values.uniform(dtype, t.weight.shape), norm = values.scalar(-1);
  return {compute::BatchNormBackwardWeight{t.input, t.gradient, t.sums, weight, bias,
                                           t.gradient_sums, norm, 1e-3},
          {{"weight_gradient", weight},
           {"bias_gradient", bias},
           {"gradient_sums", t.gradient_sums},
           {"squared_norm", norm}}};
}

inline Case batch_norm_backward_input(Values& values, DType dtype, const Shape& shape) {
  const BatchNormTensors t = batch_norm_tensors(values, dtype, shape);
  const Tensor result = values.uniform(dtype, shape);
  return {compute::BatchNormBackwardInput{t.input, t.gradient, t.weight, t.sums, t.gradient_sums,
                                          result, 1e-3},
          {{"input_gradient", result}}};
}

// One or two channels leave almost nothing: a value that is 0 by the formula is then only rounding.
inline Shape with_more_channels(Shape shape) {
  shape.extents[static_cast<std::size_t>(shape.dimensions) - 1] += 2;
  return shape;
}

inline Case row_norm_forward(Values& values, DType dtype, const Shape& image,
                             compute::RowNorm norm) {
  const Shape shape = with_more_channels(image);
  const std::int64_t channels = shape[shape.dimensions - 1];
  const Tensor output = values.uniform(dtype, shape), bias = norm == compute::RowNorm::layer
                                                                 ? values.uniform(dtype, {channels})
                                                                 : Tensor{};
  return {compute::RowNormForward{values.uniform(dtype, shape), values.uniform(dtype, {channels}),
                                  bias, output, norm, 1e-3},
          {{"output", output}}};
}

inline Case row_norm_backward_weight(Values& values, DType dtype, const Shape& image,
                                     compute::RowNorm norm) {
  const Shape shape = with_more_channels(image);
  const std::int64_t channels = shape[shape.dimensions - 1];
  const bool shifts = norm == compute::RowNorm::layer;
  const Tensor weight = values.uniform(dtype, {channels}),
               bias = shifts ? values.uniform(dtype, {channels}) : Tensor{},
               squares = values.scalar(-1);
  Case made{
      compute::RowNormBackwardWeight{values.uniform(dtype, shape), values.uniform(dtype, shape),
                                     weight, bias, squares, norm, 1e-3},
      {{"weight_gradient", weight}, {"squared_norm", squares}}};
  if (shifts) made.results.push_back({"bias_gradient", bias});
  return made;
}

inline Case row_norm_backward_input(Values& values, DType dtype, const Shape& image,
                                    compute::RowNorm norm) {
  const Shape shape = with_more_channels(image);
  const Tensor result = values.uniform(dtype, shape),
               weight = values.uniform(dtype, {shape[shape.dimensions - 1]});
  return {compute::RowNormBackwardInput{values.uniform(dtype, shape), values.uniform(dtype, shape),
                                        weight, result, norm, 1e-3},
          {{"input_gradient", result}}};
}

inline Case gelu_forward(Values& values, DType dtype, const Shape& shape) {
  const Tensor output = values.uniform(dtype, shape);
  return {compute::GeluForward{values.uniform(dtype, shape, -5, 5), output}, {{"output", output}}};
}

inline Case gelu_backward(Values& values, DType dtype, const Shape& shape) {
  const Tensor result = values.uniform(dtype, shape);
  return {compute::GeluBackward{values.uniform(dtype, shape, -5, 5), values.uniform(dtype, shape),
                                result},
          {{"input_gradient", result}}};
}

// One row per pixel of the image, of two heads.
inline Shape sequences(const Shape& image, std::int64_t columns) {
  return {image[0], image[1] * image[2], columns * 2 * image[3]};
}

inline Case attention_forward(Values& values, DType dtype, const Shape& image) {
  const Tensor output = values.uniform(dtype, sequences(image, 1));
  return {compute::AttentionForward{values.uniform(dtype, sequences(image, 3), -2, 2), output, 2},
          {{"output", output}}};
}

inline Case attention_backward(Values& values, DType dtype, const Shape& image) {
  const Tensor result = values.uniform(dtype, sequences(image, 3));
  const Tensor input = values.uniform(dtype, sequences(image, 3), -2, 2),
               output = values.uniform(dtype, sequences(image, 1));
  return {compute::AttentionBackward{input, output, values.uniform(dtype, sequences(image, 1)),
                                     result, 2},
          {{"input_gradient", result}}};
}

inline Case dropout(Values& values, DType dtype, const Shape& shape) {
  const Tensor output = values.uniform(dtype, shape);
  return {compute::Dropout{values.uniform(dtype, shape), output, values.labels(shape[0], 1'000'000),
                           values.scalar(17), 5, 3, 0.3},
          {{"output", output}}};
}

inline Case add(Values& values, DType dtype, const Shape& shape, compute::Activation activation) {
  const Tensor output = values.uniform(dtype, shape);
  return {
      compute::Add{values.uniform(dtype, shape), values.uniform(dtype, shape), output, activation},
      {{"output", output}}};
}

inline Case accumulate(Values& values, DType dtype, const Shape& shape) {
  const Tensor output = values.uniform(dtype, shape);
  return {compute::Accumulate{values.uniform(dtype, shape), output}, {{"output", output}}};
}

inline Case copy(Values& values, DType dtype, const Shape& shape) {
  const Tensor output = values.uniform(dtype, shape);
  return {compute::Copy{values.uniform(dtype, shape), output}, {{"output", output}}};
}

inline Case scale(Values& values, DType dtype, const Shape& shape) {
  const Tensor output = values.uniform(dtype, shape);
  return {compute::Scale{values.uniform(dtype, shape), output, 0.3}, {{"output", output}}};
}

struct NamedImageCase {
  std::string name;
  MakeImageCase make;
};

inline std::vector<NamedImageCase> image_cases() {
  using compute::Activation;
  using compute::Pooling;
  using compute::RowNorm;
  const auto with = [](auto make, auto last) {
    return [=](Values& values, DType dtype, const ImageSizes& sizes) {
      return make(values, dtype, sizes, last);
    };
  };
  const auto of = [](auto make, auto... last) {
    return [=](Values& values, DType dtype, const ImageSizes& s) {
      return make(values, dtype, s.image(), last...);
    };
  };
  return {{"conv2d_forward", with(conv2d_forward, Activation::none)},
          {"conv2d_forward_relu", with(conv2d_forward, Activation::relu)},
          {"conv2d_forward_tanh", with(conv2d_forward, Activation::tanh)},
          {"conv2d_backward_input", conv2d_backward_input},
          {"conv2d_backward_weight", conv2d_backward_weight},
          {"max_pool", with(pool_forward, Pooling::maximum)},
          {"average_pool", with(pool_forward, Pooling::average)},
          {"max_pool_backward", with(pool_backward, Pooling::maximum)},
          {"average_pool_backward", with(pool_backward, Pooling::average)},
          {"batch_norm_sums", of(batch_norm_sums)},
          {"batch_norm_forward", of(batch_norm_forward, Activation::none)},
          {"batch_norm_forward_relu", of(batch_norm_forward, Activation::relu)},
          {"batch_norm_evaluate_tanh", of(batch_norm_evaluate, Activation::tanh)},
          {"batch_norm_backward_weight", of(batch_norm_backward_weight)},
          {"batch_norm_backward_input", of(batch_norm_backward_input)},
          {"layer_norm_forward", of(row_norm_forward, RowNorm::layer)},
          {"rms_norm_forward", of(row_norm_forward, RowNorm::root_mean_square)},
          {"layer_norm_backward_weight", of(row_norm_backward_weight, RowNorm::layer)},
          {"rms_norm_backward_weight", of(row_norm_backward_weight, RowNorm::root_mean_square)},
          {"layer_norm_backward_input", of(row_norm_backward_input, RowNorm::layer)},
          {"rms_norm_backward_input", of(row_norm_backward_input, RowNorm::root_mean_square)},
          {"gelu_forward", of(gelu_forward)},
          {"gelu_backward", of(gelu_backward)},
          {"attention_forward", of(attention_forward)},
          {"attention_backward", of(attention_backward)},
          {"dropout", of(dropout)},
          {"add", of(add, Activation::none)},
          {"add_relu", of(add, Activation::relu)},
          {"add_tanh", of(add, Activation::tanh)},
          {"accumulate", of(accumulate)},
          {"scale", of(scale)},
          {"copy", of(copy)}};
}

// The same for tests that speak of sizes of matrices: a small image of as many channels, or a
// window of 3 over it.
inline ImageSizes image_of(const Sizes& s) {
  return {std::min<std::int64_t>(s.batch, 9),    5,        4, std::min<std::int64_t>(s.inputs, 19),
          std::min<std::int64_t>(s.outputs, 35), {3, 1, 1}};
}

}  // namespace trainyard::conformance
