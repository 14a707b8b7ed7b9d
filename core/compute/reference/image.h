// SPDX-License-Identifier: GPL-3.0-or-later
// Convolution and pooling in plain loops.
#pragma once

#include <algorithm>
#include <limits>

#include "core/compute/reference/linear.h"

namespace trainyard::compute::reference {

// Index of an element of [B,H,W,C].
inline std::int64_t at(const Tensor& image, std::int64_t b, std::int64_t y, std::int64_t x,
                       std::int64_t c) {
  const Shape& s = image.shape;
  return ((b * s[1] + y) * s[2] + x) * s[3] + c;
}

template <class T>
double value(const Tensor& tensor, std::int64_t element) {
  return static_cast<double>(tensor.as<T>()[element]);
}

template <class T>
double factor(Multiplies multiplies, const Tensor& tensor, std::int64_t element) {
  return factor(multiplies, tensor.as<T>()[element]);
}

// Calls visit(r, s, y, x) for each position (r, s) in the window of result (row, column) whose
// pixel (y, x) is inside the image.
template <class Visit>
void in_window(const Window& w, const Tensor& image, std::int64_t row, std::int64_t column,
               const Visit& visit) {
  for (std::int64_t r = 0; r < w.kernel; ++r)
    for (std::int64_t s = 0; s < w.kernel; ++s) {
      const std::int64_t y = row * w.stride + r - w.padding, x = column * w.stride + s - w.padding;
      if (y >= 0 && y < image.shape[1] && x >= 0 && x < image.shape[2]) visit(r, s, y, x);
    }
}

// Calls visit(b, y, x, c) for every element.
template <class Visit>
void for_each_element(const Tensor& image, const Visit& visit) {
  for (std::int64_t b = 0; b < image.shape[0]; ++b)
    for (std::int64_t y = 0; y < image.shape[1]; ++y)
      for (std::int64_t x = 0; x < image.shape[2]; ++x)
        for (std::int64_t c = 0; c < image.shape[3]; ++c) visit(b, y, x, c);
}

inline std::int64_t weight_at(const Tensor& weight, std::int64_t o, std::int64_t i, std::int64_t r,
                              std::int64_t s) {
  return ((o * weight.shape[1] + i) * weight.shape[2] + r) * weight.shape[3] + s;
}

template <class T>
void run(const Conv2dForward& op) {
  for_each_element(op.output, [&](std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t o) {
    double sum = value<T>(op.bias, o);
    in_window(op.window, op.input, y, x,
              [&](std::int64_t r, std::int64_t s, std::int64_t from_y, std::int64_t from_x) {
                for (std::int64_t i = 0; i < op.input.shape[3]; ++i)
                  sum += factor<T>(op.multiplies, op.weight, weight_at(op.weight, o, i, r, s)) *
                         factor<T>(op.multiplies, op.input, at(op.input, b, from_y, from_x, i));
              });
    op.output.as<T>()[at(op.output, b, y, x, o)] = static_cast<T>(activate(op.activation, sum));
  });
}

// Calls visit(r, s, row, column) for each result (row, column) whose window contains pixel (y, x),
// at position (r, s) of the window.
template <class Visit>
void windows_on(const Window& w, const Tensor& result, std::int64_t y, std::int64_t x,
                const Visit& visit) {
  for (std::int64_t r = 0; r < w.kernel; ++r)
    for (std::int64_t s = 0; s < w.kernel; ++s) {
      const std::int64_t top = y + w.padding - r, left = x + w.padding - s;
      const bool starts = top >= 0 && left >= 0 && top % w.stride == 0 && left % w.stride == 0;
      if (starts && top / w.stride < result.shape[1] && left / w.stride < result.shape[2])
        visit(r, s, top / w.stride, left / w.stride);
    }
}

template <class T>
void run(const Conv2dBackwardInput& op) {
  for_each_element(
      op.input_gradient, [&](std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t i) {
        double sum = 0;
        windows_on(op.window, op.output_gradient, y, x,
                   [&](std::int64_t r, std::int64_t s, std::int64_t row, std::int64_t column) {
                     for (std::int64_t o = 0; o < op.weight.shape[0]; ++o)
                       sum += factor<T>(op.multiplies, op.output_gradient,
                                        at(op.output_gradient, b, row, column, o)) *
                              factor<T>(op.multiplies, op.weight, weight_at(op.weight, o, i, r, s));
                   });
        op.input_gradient.as<T>()[at(op.input_gradient, b, y, x, i)] = static_cast<T>(sum);
      });
}

// Returns the gradient of one weight, summed over all samples and all positions of the window.
template <class T>
double weight_gradient(const Conv2dBackwardWeight& op, std::int64_t o, std::int64_t i,
                       std::int64_t r, std::int64_t s) {
  const Shape& result = op.output_gradient.shape;
  double sum = 0;
  for (std::int64_t b = 0; b < result[0]; ++b)
    for (std::int64_t row = 0; row < result[1]; ++row)
      for (std::int64_t column = 0; column < result[2]; ++column) {
        const std::int64_t y = row * op.window.stride + r - op.window.padding,
                           x = column * op.window.stride + s - op.window.padding;
        if (y < 0 || y >= op.input.shape[1] || x < 0 || x >= op.input.shape[2]) continue;
        sum += factor<T>(op.multiplies, op.output_gradient,
                         at(op.output_gradient, b, row, column, o)) *
               factor<T>(op.multiplies, op.input, at(op.input, b, y, x, i));
      }
  return sum;
}

template <class T>
void run(const Conv2dBackwardWeight& op) {
  const Shape& weight = op.weight_gradient.shape;
  for (std::int64_t o = 0; o < weight[0]; ++o) {
    double bias = 0;
    for (std::int64_t at = o; at < op.output_gradient.elements(); at += weight[0])
      bias += value<T>(op.output_gradient, at);
    op.bias_gradient.as<T>()[o] = static_cast<T>(bias);
    for (std::int64_t i = 0; i < weight[1]; ++i)
      for (std::int64_t r = 0; r < weight[2]; ++r)
        for (std::int64_t s = 0; s < weight[3]; ++s)
          op.weight_gradient.as<T>()[weight_at(op.weight_gradient, o, i, r, s)] =
              static_cast<T>(weight_gradient<T>(op, o, i, r, s));
  }
  if (!op.squared_norm.empty())
    *op.squared_norm.as<double>() =
        squared_norm<T>(op.weight_gradient) + squared_norm<T>(op.bias_gradient);
}

template <class T>
double maximum(const PoolForward& op, std::int64_t b, std::int64_t y, std::int64_t x,
               std::int64_t c) {
  double largest = -std::numeric_limits<double>::infinity();
  in_window(op.window, op.input, y, x,
            [&](std::int64_t, std::int64_t, std::int64_t from_y, std::int64_t from_x) {
              const double here = value<T>(op.input, at(op.input, b, from_y, from_x, c));
              // keeps NaN as the maximum
              if (here > largest || std::isnan(here)) largest = here;
            });
  return largest;
}

template <class T>
double average(const PoolForward& op, std::int64_t b, std::int64_t y, std::int64_t x,
               std::int64_t c) {
  double sum = 0;
  in_window(op.window, op.input, y, x,
            [&](std::int64_t, std::int64_t, std::int64_t from_y, std::int64_t from_x) {
              sum += value<T>(op.input, at(op.input, b, from_y, from_x, c));
            });
  return sum / static_cast<double>(op.window.kernel * op.window.kernel);
}

template <class T>
void run(const PoolForward& op) {
  for_each_element(op.output, [&](std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) {
    const double pooled =
        op.pooling == Pooling::maximum ? maximum<T>(op, b, y, x, c) : average<T>(op, b, y, x, c);
    op.output.as<T>()[at(op.output, b, y, x, c)] = static_cast<T>(pooled);
  });
}

// Returns the first input of a window that equals its maximum; -1 if there is none (NaN).
template <class T>
std::int64_t first_maximum(const PoolBackward& op, std::int64_t b, std::int64_t row,
                           std::int64_t column, std::int64_t c) {
  const double largest = value<T>(op.output, at(op.output, b, row, column, c));
  std::int64_t first = -1;
  in_window(op.window, op.input, row, column,
            [&](std::int64_t, std::int64_t, std::int64_t y, std::int64_t x) {
              const std::int64_t place = at(op.input, b, y, x, c);
              if (first < 0 && value<T>(op.input, place) == largest) first = place;
            });
  return first;
}

template <class T>
void run(const PoolBackward& op) {
  const double share = 1 / static_cast<double>(op.window.kernel * op.window.kernel);
  for_each_element(
      op.input_gradient, [&](std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) {
        const std::int64_t place = at(op.input_gradient, b, y, x, c);
        double sum = 0;
        windows_on(op.window, op.output_gradient, y, x,
                   [&](std::int64_t, std::int64_t, std::int64_t row, std::int64_t column) {
                     const double gradient =
                         value<T>(op.output_gradient, at(op.output_gradient, b, row, column, c));
                     if (op.pooling == Pooling::average) sum += gradient * share;
                     else if (first_maximum<T>(op, b, row, column, c) == place) sum += gradient;
                   });
        op.input_gradient.as<T>()[place] = static_cast<T>(sum);
      });
}

}  // namespace trainyard::compute::reference
