// SPDX-License-Identifier: GPL-3.0-or-later
// Embedding bags. For the gradient, lookups are sorted by table row, so that one team (thread
// block) sums each row, in the order of samples.
#pragma once

#include <limits>

#include "backends/cuda/module/device.h"
#include "backends/cuda/module/kernels/sums.h"
#include "core/compute/row_number.h"

namespace trainyard::cuda {

using compute::kElsewhere;
using compute::kNoRow;

// Returns `sum` plus column `w` of the table rows that a sample looks up. The sample begins at
// element `first`.
template <class W>
ON_DEVICE double add_bag(double sum, const Tensor& samples, std::int64_t first, std::int64_t slots,
                         const Tensor& table, std::int64_t w, std::int64_t first_row,
                         std::int64_t all_rows) {
  for (std::int64_t s = 0; s < slots; ++s) {
    const std::int64_t row =
        compute::row_of_part(get<W>(samples, first + s), table.shape[0], first_row, all_rows);
    if (row == kNoRow) sum = std::numeric_limits<double>::quiet_NaN();
    else if (row != kElsewhere) sum += static_cast<double>(get<W>(table, row * table.shape[1] + w));
  }
  return sum;
}

template <class W>
void run(Stream& stream, const compute::EmbeddingBagForward& op) {
  const std::int64_t inputs = op.input.shape[1], width = op.table.shape[1],
                     outputs = op.output.shape[1];
  for_each(stream, op.output.elements(), [=] ON_DEVICE(std::int64_t i) {
    const std::int64_t first = i / outputs * inputs, w = i % outputs;
    if (w >= width) put(op.output, i, get<W>(op.input, first + op.slot_count + w - width));
    else
      put(op.output, i,
          static_cast<W>(add_bag<W>(0, op.input, first, op.slot_count, op.table, w, op.first_row,
                                    op.all_rows)));
  });
}

template <class W>
void run(Stream& stream, const compute::AddBag& op) {
  const std::int64_t inputs = op.samples.shape[1], width = op.table.shape[1];
  for_each(stream, op.output.elements(), [=] ON_DEVICE(std::int64_t i) {
    const double before = get<W>(op.input, i);
    put(op.output, i,
        static_cast<W>(add_bag<W>(before, op.samples, i / width * inputs, op.slot_count, op.table,
                                  i % width, 0, 0)));
  });
}

// Writes the sort keys, which are table rows. A lookup whose row number is not in the table (or
// shard) gets the key `rows`, which sorts last.
template <class W>
void write_keys(Stream& stream, const compute::EmbeddingBagBackwardWeight& op, std::int32_t* keys) {
  const std::int64_t inputs = op.input.shape[1], rows = op.table_gradient.shape[0];
  for_each(stream, op.input.shape[0] * op.slot_count, [=] ON_DEVICE(std::int64_t i) {
    const W number = get<W>(op.input, i / op.slot_count * inputs + i % op.slot_count);
    const std::int64_t row = compute::row_of_part(number, rows, op.first_row, op.all_rows);
    keys[i] = static_cast<std::int32_t>(row >= 0 ? row : rows);
  });
}

// Sums the gradients of each sequence of equal sorted keys. The team (thread block) at the first
// key of the sequence computes the sum.
template <class W>
void sum_runs(Stream& stream, const compute::EmbeddingBagBackwardWeight& op,
              const std::int32_t* keys, const std::int32_t* places) {
  const std::int64_t count = op.input.shape[0] * op.slot_count, rows = op.table_gradient.shape[0],
                     width = op.table_gradient.shape[1], outputs = op.output_gradient.shape[1];
  for_teams(stream, count, 0, [=] ON_DEVICE(const Team& team, std::int64_t p) {
    const std::int32_t row = keys[places[p]];
    if (row == rows || (p > 0 && keys[places[p - 1]] == row)) return;
    for (std::int64_t w = team.rank; w < width; w += team.size) {
      double sum = 0;
      for (std::int64_t at = p; at < count && keys[places[at]] == row; ++at)
        sum += static_cast<double>(
            get<W>(op.output_gradient, places[at] / op.slot_count * outputs + w));
      put(op.table_gradient, row * width + w, static_cast<W>(sum));
    }
  });
}

template <class W>
base::Result<Run> make(Device& device, const compute::EmbeddingBagBackwardWeight& op) {
  const std::int64_t count = op.input.shape[0] * op.slot_count;
  auto numbers = device.allocate(2 * count * static_cast<std::int64_t>(sizeof(std::int32_t)));
  if (!numbers) return base::fail(numbers.error());
  auto memory = device.allocate_zeros(bytes_of_sums(1));
  if (!memory) return base::fail(memory.error());
  auto* const keys = reinterpret_cast<std::int32_t*>(numbers->get());
  auto order = device.order(keys, keys + count, count,
                            static_cast<std::int32_t>(op.table_gradient.shape[0]));
  if (!order) return base::fail(order.error());
  return Run(
      [op, keys, count, numbers = *numbers, memory = *memory, order = *order](Stream& stream) {
        clear(stream, op.table_gradient.data, op.table_gradient.bytes());
        write_keys<W>(stream, op, keys);
        order(stream);
        sum_runs<W>(stream, op, keys, keys + count);
        square<W>(stream, op.table_gradient, {}, op.squared_norm,
                  reinterpret_cast<double*>(memory.get()));
      });
}

}  // namespace trainyard::cuda
