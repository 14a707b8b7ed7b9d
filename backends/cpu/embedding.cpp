// SPDX-License-Identifier: GPL-3.0-or-later
// Embedding bags, which sum rows of a table and scatter gradients to them. Their time is spent on
// memory access to the rows, not on the additions.
#include <algorithm>
#include <limits>

#include "backends/cpu/norm.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/threads.h"
#include "core/compute/ops.h"
#include "core/compute/row_number.h"

namespace trainyard::cpu {
namespace {

using compute::kElsewhere;
using compute::kNoRow;
using compute::Queue;
using compute::row_of_part;

template <class T>
void add(const T* row, std::int64_t width, T* sum) {
  for (std::int64_t w = 0; w < width; ++w) sum[w] += row[w];
}

// Adds the embedding rows that one sample looks up to `sum`.
template <class T>
void add_bag(const T* sample, std::int64_t slots, const compute::Tensor& table, T* sum,
             std::int64_t first_row = 0, std::int64_t all_rows = 0) {
  const std::int64_t rows = table.shape[0], width = table.shape[1];
  for (std::int64_t s = 0; s < slots; ++s) {
    const std::int64_t row = row_of_part(sample[s], rows, first_row, all_rows);
    if (row == kElsewhere) continue;
    if (row != kNoRow) add(table.as<T>() + row * width, width, sum);
    else std::fill_n(sum, width, std::numeric_limits<T>::quiet_NaN());
  }
}

template <class T>
void sum_bag(const compute::EmbeddingBagForward& op, std::int64_t sample) {
  const std::int64_t inputs = op.input.shape[1], width = op.table.shape[1];
  const T* const input = op.input.as<T>() + sample * inputs;
  T* const output = op.output.as<T>() + sample * op.output.shape[1];
  std::fill_n(output, width, T{0});
  add_bag(input, op.slot_count, op.table, output, op.first_row, op.all_rows);
  std::copy(input + op.slot_count, input + inputs, output + width);
}

template <class T>
void sum_bag(const compute::AddBag& op, std::int64_t sample) {
  const std::int64_t width = op.table.shape[1];
  T* const output = op.output.as<T>() + sample * width;
  std::copy_n(op.input.as<T>() + sample * width, width, output);
  add_bag(op.samples.as<T>() + sample * op.samples.shape[1], op.slot_count, op.table, output);
}

// Adds the output gradients of all samples to table rows [begin, end), in the order of samples.
template <class T>
void scatter(const compute::EmbeddingBagBackwardWeight& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t inputs = op.input.shape[1], rows = op.table_gradient.shape[0],
                     width = op.table_gradient.shape[1];
  T* const table = op.table_gradient.as<T>();
  std::fill(table + begin * width, table + end * width, T{0});
  for (std::int64_t b = 0; b < op.input.shape[0]; ++b)
    for (std::int64_t s = 0; s < op.slot_count; ++s) {
      const std::int64_t row =
          row_of_part(op.input.as<T>()[b * inputs + s], rows, op.first_row, op.all_rows);
      if (row >= begin && row < end)
        add(op.output_gradient.as<T>() + b * op.output_gradient.shape[1], width,
            table + row * width);
    }
}

template <class T, class Bag>
PreparedKernel prepare_bag(const Bag& op, const Device& device) {
  constexpr std::int64_t kSamples = 16;
  return make_kernel([op, cores = device.cores](Queue&) {
    for_blocks(cores, op.input.shape[0], kSamples,
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 for (std::int64_t sample = begin; sample < end; ++sample) sum_bag<T>(op, sample);
               });
  });
}

// Assigns a range of table rows to each thread; every thread scans all samples. The additions to a
// row therefore have the same order for any number of threads.
template <class T>
PreparedKernel prepare_scatter(const compute::EmbeddingBagBackwardWeight& op,
                               const Device& device) {
  const std::int64_t rows = op.table_gradient.shape[0],
                     rows_per_thread =
                         std::max<std::int64_t>((rows + device.cores - 1) / device.cores, 1);
  return make_kernel([op, rows, rows_per_thread, cores = device.cores,
                      norm = TensorNorm<T>(op.table_gradient, device.cores)](Queue&) mutable {
    for_blocks(
        cores, rows, rows_per_thread,
        [&](std::int64_t begin, std::int64_t end, std::int64_t) { scatter<T>(op, begin, end); });
    if (!op.squared_norm.empty()) *op.squared_norm.template as<double>() = norm();
  });
}

}  // namespace

PreparedKernel prepare(const compute::EmbeddingBagForward& op, const Device& device) {
  return op.input.dtype == compute::DType::fp64 ? prepare_bag<double>(op, device)
                                                : prepare_bag<float>(op, device);
}

PreparedKernel prepare(const compute::AddBag& op, const Device& device) {
  return op.input.dtype == compute::DType::fp64 ? prepare_bag<double>(op, device)
                                                : prepare_bag<float>(op, device);
}

PreparedKernel prepare(const compute::EmbeddingBagBackwardWeight& op, const Device& device) {
  return op.input.dtype == compute::DType::fp64 ? prepare_scatter<double>(op, device)
                                                : prepare_scatter<float>(op, device);
}

}  // namespace trainyard::cpu
