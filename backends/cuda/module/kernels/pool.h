// SPDX-License-Identifier: GPL-3.0-or-later
// Windows over images: pooling, and the columns of convolutions (convolution.h).
#pragma once

#include <limits>

#include "backends/cuda/module/numbers.h"

namespace trainyard::cuda {

using compute::Pooling;
using compute::Shape;
using compute::Window;

struct Place {
  std::int64_t b, y, x, c;
};

// Of the i-th element of [B,H,W,C], and back.
ON_DEVICE inline Place place_of(const Shape& s, std::int64_t i) { return {i / (s[1] * s[2] * s[3]), i / (s[2] * s[3]) % s[1], i / s[3] % s[2], i % s[3]}; }
ON_DEVICE inline std::int64_t element_at(const Shape& s, std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) {
  return ((b * s[1] + y) * s[2] + x) * s[3] + c;
}

// visit(r, s, y, x) for every place of the window at (row, column) of the result that lies within the image.
template <class Visit>
ON_DEVICE void in_window(const Window& w, const Shape& image, std::int64_t row, std::int64_t column, const Visit& visit) {
  for (std::int64_t r = 0; r < w.kernel; ++r)
    for (std::int64_t s = 0; s < w.kernel; ++s) {
      const std::int64_t y = row * w.stride + r - w.padding, x = column * w.stride + s - w.padding;
      if (y >= 0 && y < image[1] && x >= 0 && x < image[2]) visit(r, s, y, x);
    }
}

// visit(r, s, row, column) for every window of the result that sees pixel (y, x), and where in the window that is.
template <class Visit>
ON_DEVICE void windows_on(const Window& w, const Shape& result, std::int64_t y, std::int64_t x, const Visit& visit) {
  for (std::int64_t r = 0; r < w.kernel; ++r)
    for (std::int64_t s = 0; s < w.kernel; ++s) {
      const std::int64_t top = y + w.padding - r, left = x + w.padding - s;
      const bool starts = top >= 0 && left >= 0 && top % w.stride == 0 && left % w.stride == 0;
      if (starts && top / w.stride < result[1] && left / w.stride < result[2]) visit(r, s, top / w.stride, left / w.stride);
    }
}

template <class W>
ON_DEVICE W largest_in(const compute::PoolForward& op, const Place& at) {
  W largest = -std::numeric_limits<W>::infinity();
  in_window(op.window, op.input.shape, at.y, at.x, [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) {
    const W here = get<W>(op.input, element_at(op.input.shape, at.b, y, x, at.c));
    if (here > largest || here != here) largest = here;  // once it is NaN it stays so
  });
  return largest;
}

template <class W>
ON_DEVICE W average_in(const compute::PoolForward& op, const Place& at) {
  W sum = 0;
  in_window(op.window, op.input.shape, at.y, at.x,
            [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) { sum += get<W>(op.input, element_at(op.input.shape, at.b, y, x, at.c)); });
  return sum / static_cast<W>(op.window.kernel * op.window.kernel);
}

template <class W>
void run(Stream& stream, const compute::PoolForward& op) {
  for_each(stream, op.output.elements(), [=] ON_DEVICE(std::int64_t i) {
    const Place at = place_of(op.output.shape, i);
    put(op.output, i, op.pooling == Pooling::maximum ? largest_in<W>(op, at) : average_in<W>(op, at));
  });
}

// The first input of a window that equals its maximum; -1 where none does (NaN).
template <class W>
ON_DEVICE std::int64_t first_maximum(const compute::PoolBackward& op, std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t c) {
  const W largest = get<W>(op.output, element_at(op.output_gradient.shape, b, row, column, c));
  std::int64_t first = -1;
  in_window(op.window, op.input_gradient.shape, row, column, [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) {
    const std::int64_t place = element_at(op.input_gradient.shape, b, y, x, c);
    if (first < 0 && get<W>(op.input, place) == largest) first = place;
  });
  return first;
}

template <class W>
void run(Stream& stream, const compute::PoolBackward& op) {
  const W share = 1 / static_cast<W>(op.window.kernel * op.window.kernel);
  for_each(stream, op.input_gradient.elements(), [=] ON_DEVICE(std::int64_t i) {
    const Place at = place_of(op.input_gradient.shape, i);
    W sum = 0;
    windows_on(op.window, op.output_gradient.shape, at.y, at.x, [&](std::int64_t, std::int64_t, std::int64_t row, std::int64_t column) {
      const W gradient = get<W>(op.output_gradient, element_at(op.output_gradient.shape, at.b, row, column, at.c));
      if (op.pooling == Pooling::average) sum += gradient * share;
      else if (first_maximum<W>(op, at.b, row, column, at.c) == i) sum += gradient;
    });
    put(op.input_gradient, i, sum);
  });
}

}  // namespace trainyard::cuda
