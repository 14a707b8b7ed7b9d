// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions by plain loops, on tensors as cuDNN describes them.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>

#include "core/compute/compression/half.h"
#include "tests/backends/cuda/library/tf32.h"

namespace trainyard::cuda::stand_in {

using compute::compression::Bf16;
using compute::compression::Fp16;
using Places = std::array<std::int64_t, 4>;

// Extents in cuDNN's names: batch, channels, height, width; for a weight outputs, inputs, height,
// width.
struct Extents {
  cudnnDataType_t type = CUDNN_DATA_DOUBLE;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::array<int, 4> of{};

  std::int64_t elements() const { return std::int64_t{of[0]} * of[1] * of[2] * of[3]; }
  std::int64_t place(std::array<std::int64_t, 4> at) const {
    const auto [b, c, h, w] = at;
    if (format == CUDNN_TENSOR_NHWC) return ((b * of[2] + h) * of[3] + w) * of[1] + c;
    return ((b * of[1] + c) * of[2] + h) * of[3] + w;
  }
};

struct Window {
  int padding = 0, stride = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

inline double number(const Extents& of, const void* data, const Places& at, cudnnMathType_t math) {
  const std::int64_t i = of.place(at);
  if (of.type == CUDNN_DATA_BFLOAT16)
    return Bf16::decode(static_cast<const std::uint16_t*>(data)[i]);
  if (of.type == CUDNN_DATA_HALF) return Fp16::decode(static_cast<const std::uint16_t*>(data)[i]);
  const float value = static_cast<const float*>(data)[i];
  return math == CUDNN_FMA_MATH ? value : to_tf32(value);
}

inline void put(const Extents& of, void* data, const Places& at, double value) {
  const std::int64_t i = of.place(at);
  if (of.type == CUDNN_DATA_BFLOAT16)
    static_cast<std::uint16_t*>(data)[i] = Bf16::encode(static_cast<float>(value));
  else if (of.type == CUDNN_DATA_HALF)
    static_cast<std::uint16_t*>(data)[i] = Fp16::encode(static_cast<float>(value));
  else static_cast<float*>(data)[i] = static_cast<float>(value);
}

template <class Visit>
void for_all(const Extents& of, const Visit& visit) {
  Places at{};
  for (at[0] = 0; at[0] < of.of[0]; ++at[0])
    for (at[1] = 0; at[1] < of.of[1]; ++at[1])
      for (at[2] = 0; at[2] < of.of[2]; ++at[2])
        for (at[3] = 0; at[3] < of.of[3]; ++at[3]) visit(at);
}

// x, w and y of a convolution, whichever of them is made.
struct Whole {
  const Extents &input, &weight, &output;
  const Window& window;

  bool inside(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < input.of[2] && x >= 0 && x < input.of[3];
  }
  std::int64_t begin(std::int64_t at) const { return at * window.stride - window.padding; }

  bool holds() const {
    const bool one_type =
        input.type == weight.type && input.type == output.type && input.type != CUDNN_DATA_DOUBLE;
    const bool one_format = input.format == CUDNN_TENSOR_NHWC && weight.format == input.format &&
                            output.format == input.format;
    bool extents =
        input.of[0] == output.of[0] && input.of[1] == weight.of[1] && output.of[1] == weight.of[0];
    for (const std::size_t axis : {2, 3})
      extents &= output.of[axis] ==
                 (input.of[axis] + 2 * window.padding - weight.of[axis]) / window.stride + 1;
    return one_type && one_format && extents;
  }

  double output_at(const void* x, const void* w, const Places& at) const {
    double sum = 0;
    const auto [b, o, row, column] = at;
    for (std::int64_t i = 0; i < weight.of[1]; ++i)
      for (std::int64_t r = 0; r < weight.of[2]; ++r)
        for (std::int64_t s = 0; s < weight.of[3]; ++s)
          if (const std::int64_t py = begin(row) + r, px = begin(column) + s; inside(py, px))
            sum += number(input, x, {b, i, py, px}, window.math) *
                   number(weight, w, {o, i, r, s}, window.math);
    return sum;
  }

  // True if the window at `row` has pixel `at` of an axis at position `r`.
  bool has(std::int64_t at, std::int64_t r, int extent, std::int64_t& row) const {
    const std::int64_t first = at + window.padding - r;
    row = first / window.stride;
    return first >= 0 && first % window.stride == 0 && row < extent;
  }

  double input_gradient_at(const void* dy, const void* w, const Places& at) const {
    double sum = 0;
    std::int64_t row = 0, column = 0;
    const auto [b, i, py, px] = at;
    for (std::int64_t o = 0; o < weight.of[0]; ++o)
      for (std::int64_t r = 0; r < weight.of[2]; ++r)
        for (std::int64_t s = 0; s < weight.of[3]; ++s)
          if (has(py, r, output.of[2], row) && has(px, s, output.of[3], column))
            sum += number(output, dy, {b, o, row, column}, window.math) *
                   number(weight, w, {o, i, r, s}, window.math);
    return sum;
  }

  double weight_gradient_at(const void* x, const void* dy, const Places& at) const {
    double sum = 0;
    const auto [o, i, r, s] = at;
    for (std::int64_t b = 0; b < input.of[0]; ++b)
      for (std::int64_t row = 0; row < output.of[2]; ++row)
        for (std::int64_t column = 0; column < output.of[3]; ++column)
          if (const std::int64_t py = begin(row) + r, px = begin(column) + s; inside(py, px))
            sum += number(input, x, {b, i, py, px}, window.math) *
                   number(output, dy, {b, o, row, column}, window.math);
    return sum;
  }
};

}  // namespace trainyard::cuda::stand_in
