// SPDX-License-Identifier: GPL-3.0-or-later
// Normalisation row by row, each by a team. Statistics are made anew in every pass; the gradient of the weights keeps those of all rows while it sums columns.
#pragma once

#include "backends/cuda/module/kernels/sums.h"

namespace trainyard::cuda {

using compute::RowNorm;

// Mean and 1 / sqrt(variance + epsilon) of a row, in two passes over it.
struct RowStatistics {
  double mean, inverse_deviation;
};

template <class W>
ON_DEVICE RowStatistics statistics_of(const Team& team, const Tensor& input, std::int64_t first, std::int64_t columns, RowNorm norm, double epsilon) {
  double sum = 0, squares = 0;
  for (std::int64_t c = team.rank; c < columns && norm == RowNorm::layer; c += team.size) sum += static_cast<double>(get<W>(input, first + c));
  const double mean = norm == RowNorm::layer ? team.sum(sum) / static_cast<double>(columns) : 0;
  for (std::int64_t c = team.rank; c < columns; c += team.size) {
    const double centred = static_cast<double>(get<W>(input, first + c)) - mean;
    squares += centred * centred;
  }
  return {mean, 1 / std::sqrt(team.sum(squares) / static_cast<double>(columns) + epsilon)};
}

template <class W>
ON_DEVICE W normalised(const Tensor& input, std::int64_t i, const RowStatistics& of) {
  return (get<W>(input, i) - static_cast<W>(of.mean)) * static_cast<W>(of.inverse_deviation);
}

template <class W>
void run(Stream& stream, const compute::RowNormForward& op) {
  const std::int64_t columns = channels_of(op.input);
  for_teams(stream, op.input.elements() / columns, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const std::int64_t first = row * columns;
    const RowStatistics of = statistics_of<W>(team, op.input, first, columns, op.norm, op.epsilon);
    for (std::int64_t c = team.rank; c < columns; c += team.size) {
      const W shift = op.bias.empty() ? W{0} : get<W>(op.bias, c);
      put(op.output, first + c, get<W>(op.weight, c) * normalised<W>(op.input, first + c, of) + shift);
    }
  });
}

inline std::int64_t scratch_bytes(const compute::RowNormBackwardWeight& op) {
  const std::int64_t columns = channels_of(op.input), rows = op.input.elements() / columns;
  return rows * static_cast<std::int64_t>(sizeof(RowStatistics)) + bytes_of_sums(1) + bytes_of_column_sums(rows, columns, 2);
}

template <class W>
void run(Stream& stream, const compute::RowNormBackwardWeight& op, std::byte* scratch) {
  const std::int64_t columns = channels_of(op.input), rows = op.input.elements() / columns;
  auto* const statistics = reinterpret_cast<RowStatistics*>(scratch);
  auto* const memory = reinterpret_cast<double*>(statistics + rows);  // of the norm, then of columns
  for_teams(stream, rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const RowStatistics of = statistics_of<W>(team, op.input, row * columns, columns, op.norm, op.epsilon);
    if (team.rank == 0) statistics[row] = of;
  });
  sum_columns<2>(
      stream, rows, columns, memory + bytes_of_sums(1) / 8,
      [=] ON_DEVICE(std::int64_t row, std::int64_t c) {
        const double gradient = get<W>(op.output_gradient, row * columns + c);
        return Sums<2>{{gradient * static_cast<double>(normalised<W>(op.input, row * columns + c, statistics[row])), gradient}};
      },
      [=] ON_DEVICE(std::int64_t c, const Sums<2>& all) {
        put(op.weight_gradient, c, static_cast<W>(all.value[0]));
        if (!op.bias_gradient.empty()) put(op.bias_gradient, c, static_cast<W>(all.value[1]));
      });
  square<W>(stream, op.weight_gradient, op.bias_gradient, op.squared_norm, memory);
}

template <class W>
void run(Stream& stream, const compute::RowNormBackwardInput& op) {
  const std::int64_t columns = channels_of(op.input);
  for_teams(stream, op.input.elements() / columns, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const std::int64_t first = row * columns;
    const RowStatistics of = statistics_of<W>(team, op.input, first, columns, op.norm, op.epsilon);
    double sum = 0, along = 0;
    for (std::int64_t c = team.rank; c < columns; c += team.size) {
      const double scaled = get<W>(op.weight, c) * get<W>(op.output_gradient, first + c);
      sum += scaled;
      along += scaled * static_cast<double>(normalised<W>(op.input, first + c, of));
    }
    const auto mean = static_cast<W>(op.norm == RowNorm::layer ? team.sum(sum) / static_cast<double>(columns) : 0);
    const auto mean_along = static_cast<W>(team.sum(along) / static_cast<double>(columns));
    for (std::int64_t c = team.rank; c < columns; c += team.size) {
      const W scaled = get<W>(op.weight, c) * get<W>(op.output_gradient, first + c);
      put(op.input_gradient, first + c, (scaled - mean - normalised<W>(op.input, first + c, of) * mean_along) * static_cast<W>(of.inverse_deviation));
    }
  });
}

}  // namespace trainyard::cuda
