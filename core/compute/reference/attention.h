// SPDX-License-Identifier: GPL-3.0-or-later
// Causal attention in plain loops, one row of scores at a time.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/compute/ops.h"
#include "core/compute/tensor.h"

namespace trainyard::compute::reference {

// One head of one sample. Consecutive rows of its queries, keys and values are 3 D elements apart;
// consecutive rows of its outputs are D elements apart.
template <class T>
struct Head {
  const T *query, *key, *value;
  std::int64_t rows, width, stride;  // [rows, width] is [T, D/H]; stride is 3 D.
  std::int64_t first;                // Index of its first output in [B,T,D].

  std::int64_t of_output(std::int64_t row) const { return first + row * stride / 3; }
};

// Calls body(head, at) for each head of each sample; `at` is the index of its first query in the
// input.
template <class T, class Body>
void for_heads(const Tensor& input, std::int64_t heads, const Body& body) {
  const std::int64_t rows = input.shape[1], stride = input.shape[2], together = stride / 3,
                     width = together / heads;
  for (std::int64_t b = 0; b < input.shape[0]; ++b)
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t at = b * rows * stride + h * width;
      const T* const query = input.as<T>() + at;
      body(Head<T>{query, query + together, query + 2 * together, rows, width, stride,
                   b * rows * together + h * width},
           at);
    }
}

template <class A, class B>
double dot(const A* a, const B* b, std::int64_t width) {
  double sum = 0;
  for (std::int64_t w = 0; w < width; ++w)
    sum += static_cast<double>(a[w]) * static_cast<double>(b[w]);
  return sum;
}

// Computes the attention weights p_ij of row i = `row` for all rows j up to it, into `p`.
template <class T>
void attend(const Head<T>& head, std::int64_t row, double* p) {
  for (std::int64_t j = 0; j <= row; ++j)
    p[j] = dot(head.query + row * head.stride, head.key + j * head.stride, head.width) /
           std::sqrt(static_cast<double>(head.width));
  const double largest = *std::max_element(p, p + row + 1);
  double sum = 0;
  for (std::int64_t j = 0; j <= row; ++j) sum += p[j] = std::exp(p[j] - largest);
  for (std::int64_t j = 0; j <= row; ++j) p[j] /= sum;
}

// Scratch size for one head: a row of scores; backward also needs the sums for the gradients of its
// queries, keys and values.
inline std::int64_t scratch_elements(const AttentionForward& op) { return op.input.shape[1]; }
inline std::int64_t scratch_elements(const AttentionBackward& op) {
  return op.input.shape[1] * (1 + op.input.shape[2] / op.heads);
}

template <class T>
void run(const AttentionForward& op, double* p) {
  for_heads<T>(op.input, op.heads, [&](const Head<T>& head, std::int64_t) {
    for (std::int64_t i = 0; i < head.rows; ++i) {
      attend(head, i, p);
      for (std::int64_t w = 0; w < head.width; ++w) {
        double sum = 0;
        for (std::int64_t j = 0; j <= i; ++j)
          sum += p[j] * static_cast<double>(head.value[j * head.stride + w]);
        op.output.as<T>()[head.of_output(i) + w] = static_cast<T>(sum);
      }
    }
  });
}

// Accumulates gradients in double, so that each is rounded only once.
template <class T>
void run(const AttentionBackward& op, double* p) {
  for_heads<T>(op.input, op.heads, [&](const Head<T>& head, std::int64_t at) {
    const std::int64_t width = head.width, together = head.stride / 3;
    double* const sums = p + head.rows;  // [3, rows, width]
    std::fill_n(sums, 3 * head.rows * width, 0.0);
    const auto sum = [&](std::int64_t which, std::int64_t row) {
      return sums + (which * head.rows + row) * width;
    };
    for (std::int64_t i = 0; i < head.rows; ++i) {
      attend(head, i, p);
      const T* const g = op.output_gradient.as<T>() + head.of_output(i);
      const double mean = dot(g, op.output.as<T>() + head.of_output(i), width);
      for (std::int64_t j = 0; j <= i; ++j) {
        const double d = p[j] * (dot(g, head.value + j * head.stride, width) - mean) /
                         std::sqrt(static_cast<double>(width));
        for (std::int64_t w = 0; w < width; ++w) {
          sum(0, i)[w] += d * static_cast<double>(head.key[j * head.stride + w]);
          sum(1, j)[w] += d * static_cast<double>(head.query[i * head.stride + w]);
          sum(2, j)[w] += p[j] * static_cast<double>(g[w]);
        }
      }
    }
    for (std::int64_t which = 0; which < 3; ++which)
      for (std::int64_t i = 0; i < head.rows; ++i)
        for (std::int64_t w = 0; w < width; ++w)
          op.input_gradient.as<T>()[at + which * together + i * head.stride + w] =
              static_cast<T>(sum(which, i)[w]);
  });
}

}  // namespace trainyard::compute::reference
