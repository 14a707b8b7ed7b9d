// SPDX-License-Identifier: GPL-3.0-or-later
// Embedding bags in plain loops.
#pragma once

#include <algorithm>
#include <limits>

#include "core/compute/reference/linear.h"
#include "core/compute/row_number.h"

namespace trainyard::compute::reference {

// Adds to `sum` column `w` of the table rows that a sample looks up, and returns it.
template <class T>
double add_bag(double sum, const T* sample, std::int64_t slots, const Tensor& table, std::int64_t w,
               std::int64_t first_row = 0, std::int64_t all_rows = 0) {
  const std::int64_t rows = table.shape[0], width = table.shape[1];
  for (std::int64_t s = 0; s < slots; ++s) {
    const std::int64_t row = row_of_part(sample[s], rows, first_row, all_rows);
    if (row != kElsewhere)
      sum += row == kNoRow ? std::numeric_limits<double>::quiet_NaN()
                           : static_cast<double>(table.as<T>()[row * width + w]);
  }
  return sum;
}

template <class T>
void run(const EmbeddingBagForward& op) {
  const std::int64_t inputs = op.input.shape[1], width = op.table.shape[1],
                     outputs = op.output.shape[1];
  for (std::int64_t b = 0; b < op.input.shape[0]; ++b) {
    const T* input = op.input.as<T>() + b * inputs;
    T* output = op.output.as<T>() + b * outputs;
    for (std::int64_t w = 0; w < width; ++w)
      output[w] =
          static_cast<T>(add_bag(0, input, op.slot_count, op.table, w, op.first_row, op.all_rows));
    for (std::int64_t d = 0; d < inputs - op.slot_count; ++d)
      output[width + d] = input[op.slot_count + d];
  }
}

template <class T>
void run(const AddBag& op) {
  const std::int64_t columns = op.samples.shape[1], width = op.table.shape[1];
  for (std::int64_t b = 0; b < op.input.shape[0]; ++b)
    for (std::int64_t w = 0; w < width; ++w) {
      const std::int64_t at = b * width + w;
      op.output.as<T>()[at] =
          static_cast<T>(add_bag(static_cast<double>(op.input.as<T>()[at]),
                                 op.samples.as<T>() + b * columns, op.slot_count, op.table, w));
    }
}

// Computes the gradient of one table row: adds the gradients of all samples that look it up, for
// `count` columns from `first` on.
template <class T>
void add_row(const EmbeddingBagBackwardWeight& op, std::int64_t row, std::int64_t first,
             std::int64_t count, double* sums) {
  const std::int64_t inputs = op.input.shape[1], rows = op.table_gradient.shape[0],
                     outputs = op.output_gradient.shape[1];
  for (std::int64_t b = 0; b < op.input.shape[0]; ++b)
    for (std::int64_t s = 0; s < op.slot_count; ++s) {
      if (row_of_part(op.input.as<T>()[b * inputs + s], rows, op.first_row, op.all_rows) != row)
        continue;
      for (std::int64_t c = 0; c < count; ++c)
        sums[c] += static_cast<double>(op.output_gradient.as<T>()[b * outputs + first + c]);
    }
}

template <class T>
void run(const EmbeddingBagBackwardWeight& op) {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t rows = op.table_gradient.shape[0], width = op.table_gradient.shape[1];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t first = 0; first < width; first += kColumns) {
      const std::int64_t count = std::min(kColumns, width - first);
      double sums[kColumns] = {};
      add_row<T>(op, row, first, count, sums);
      for (std::int64_t c = 0; c < count; ++c)
        op.table_gradient.as<T>()[row * width + first + c] = static_cast<T>(sums[c]);
    }
  if (!op.squared_norm.empty()) *op.squared_norm.as<double>() = squared_norm<T>(op.table_gradient);
}

}  // namespace trainyard::compute::reference
