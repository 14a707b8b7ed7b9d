// SPDX-License-Identifier: GPL-3.0-or-later
// Windows over images: pooling, and the columns of convolutions (convolution_columns.h).
#pragma once

#include <limits>

#include "backends/cuda/module/numbers.h"

namespace trainyard::cuda {

using compute::Pooling;
using compute::Shape;
using compute::Window;

struct PixelIndex {
  std::int64_t b, y, x, c;
};

template <class Index>
ON_DEVICE PixelIndex pixel_index(const Shape& s, Index i) {
  const auto height = static_cast<Index>(s[1]), width = static_cast<Index>(s[2]),
             channels = static_cast<Index>(s[3]);
  const Index pixel = i / channels, row = pixel / width;
  return {row / height, row % height, pixel % width, i % channels};
}
// Convert between the index of an element in [B,H,W,C] and its position. GPUs divide 32-bit
// integers several times faster than 64-bit ones.
ON_DEVICE inline PixelIndex place_of(const Shape& s, std::int64_t i) {
  return i <= std::numeric_limits<std::uint32_t>::max()
             ? pixel_index(s, static_cast<std::uint32_t>(i))
             : pixel_index(s, i);
}
ON_DEVICE inline std::int64_t element_at(const Shape& s, std::int64_t b, std::int64_t y,
                                         std::int64_t x, std::int64_t c) {
  return ((b * s[1] + y) * s[2] + x) * s[3] + c;
}

// Calls visit(r, s, y, x) for every position of the window at output (row, column) that is
// inside the image.
template <class Visit>
ON_DEVICE void in_window(const Window& w, const Shape& image, std::int64_t row, std::int64_t column,
                         const Visit& visit) {
  for (std::int64_t r = 0; r < w.kernel; ++r)
    for (std::int64_t s = 0; s < w.kernel; ++s) {
      const std::int64_t y = row * w.stride + r - w.padding, x = column * w.stride + s - w.padding;
      if (y >= 0 && y < image[1] && x >= 0 && x < image[2]) visit(r, s, y, x);
    }
}

// Range of the windows that contain a pixel, along one axis (rows or columns).
struct WindowRange {
  std::int64_t first, last;
};
ON_DEVICE inline WindowRange windows_of_pixel(const Window& w, std::int64_t windows,
                                              std::int64_t pixel) {
  const auto end = static_cast<std::int32_t>(pixel + w.padding),
             low = static_cast<std::int32_t>(end - w.kernel + 1),
             stride = static_cast<std::int32_t>(w.stride);
  const std::int64_t last = end / stride;
  return {low <= 0 ? 0 : (low + stride - 1) / stride, last < windows ? last : windows - 1};
}

// Calls visit(r, s, row, column) for every output window that contains pixel (y, x), where
// (r, s) is its position in the window, in increasing order of (r, s).
template <class Visit>
ON_DEVICE void windows_on(const Window& w, const Shape& result, std::int64_t y, std::int64_t x,
                          const Visit& visit) {
  const WindowRange rows = windows_of_pixel(w, result[1], y),
                    columns = windows_of_pixel(w, result[2], x);
  for (std::int64_t row = rows.last; row >= rows.first; --row)
    for (std::int64_t column = columns.last; column >= columns.first; --column)
      visit(y + w.padding - row * w.stride, x + w.padding - column * w.stride, row, column);
}

template <class W>
ON_DEVICE W largest_in(const compute::PoolForward& op, const PixelIndex& at) {
  W largest = -std::numeric_limits<W>::infinity();
  in_window(op.window, op.input.shape, at.y, at.x,
            [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) {
              const W here = get<W>(op.input, element_at(op.input.shape, at.b, y, x, at.c));
              if (here > largest || here != here) largest = here;  // stays NaN once it is NaN
            });
  return largest;
}

template <class W>
ON_DEVICE W average_in(const compute::PoolForward& op, const PixelIndex& at) {
  W sum = 0;
  in_window(op.window, op.input.shape, at.y, at.x,
            [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) {
              sum += get<W>(op.input, element_at(op.input.shape, at.b, y, x, at.c));
            });
  return sum / static_cast<W>(op.window.kernel * op.window.kernel);
}

template <class W>
void run(Stream& stream, const compute::PoolForward& op) {
  for_each(stream, op.output.elements(), [=] ON_DEVICE(std::int64_t i) {
    const PixelIndex at = place_of(op.output.shape, i);
    put(op.output, i,
        op.pooling == Pooling::maximum ? largest_in<W>(op, at) : average_in<W>(op, at));
  });
}

// Returns the first input of a window that equals its maximum, or -1 if there is none (NaN).
template <class W>
ON_DEVICE std::int64_t first_maximum(const compute::PoolBackward& op, std::int64_t b,
                                     std::int64_t row, std::int64_t column, std::int64_t c) {
  const W largest = get<W>(op.output, element_at(op.output_gradient.shape, b, row, column, c));
  std::int64_t first = -1;
  in_window(op.window, op.input_gradient.shape, row, column,
            [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) {
              const std::int64_t place = element_at(op.input_gradient.shape, b, y, x, c);
              if (first < 0 && get<W>(op.input, place) == largest) first = place;
            });
  return first;
}

template <class W>
void run(Stream& stream, const compute::PoolBackward& op) {
  const W share = 1 / static_cast<W>(op.window.kernel * op.window.kernel);
  for_each(stream, op.input_gradient.elements(), [=] ON_DEVICE(std::int64_t i) {
    const PixelIndex at = place_of(op.input_gradient.shape, i);
    W sum = 0;
    windows_on(op.window, op.output_gradient.shape, at.y, at.x,
               [&](std::int64_t, std::int64_t, std::int64_t row, std::int64_t column) {
                 const W gradient = get<W>(op.output_gradient, element_at(op.output_gradient.shape,
                                                                          at.b, row, column, at.c));
                 if (op.pooling == Pooling::average) sum += gradient * share;
                 else if (first_maximum<W>(op, at.b, row, column, at.c) == i) sum += gradient;
               });
    put(op.input_gradient, i, sum);
  });
}

}  // namespace trainyard::cuda
