// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of transformers other than linear layers and attention, in plain loops.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/compute/reference/normalization.h"

namespace trainyard::compute::reference {

// Mean and variance of one row, computed in two passes.
template <class T>
struct Row {
  const T* values;
  std::int64_t columns;
  double mean = 0, inverse_deviation = 0;

  Row(const T* row, std::int64_t count, RowNorm norm, double epsilon)
      : values(row), columns(count) {
    for (std::int64_t c = 0; c < columns && norm == RowNorm::layer; ++c)
      mean += static_cast<double>(values[c]) / static_cast<double>(columns);
    double variance = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      const double centered = static_cast<double>(values[c]) - mean;
      variance += centered * centered / static_cast<double>(columns);
    }
    inverse_deviation = 1 / std::sqrt(variance + epsilon);
  }
  double normalized(std::int64_t c) const {
    return (static_cast<double>(values[c]) - mean) * inverse_deviation;
  }
};

// Calls body(row, index of the row's first element).
template <class T, class AnyRowNorm, class Body>
void for_rows(const AnyRowNorm& op, const Body& body) {
  const std::int64_t columns = channels_of(op.input);
  for (std::int64_t first = 0; first < op.input.elements(); first += columns)
    body(Row<T>(op.input.template as<T>() + first, columns, op.norm, op.epsilon), first);
}

template <class T>
void run(const RowNormForward& op) {
  for_rows<T>(op, [&](const Row<T>& row, std::int64_t first) {
    for (std::int64_t c = 0; c < row.columns; ++c) {
      const double shift = op.bias.empty() ? 0.0 : static_cast<double>(op.bias.as<T>()[c]);
      op.output.as<T>()[first + c] =
          static_cast<T>(static_cast<double>(op.weight.as<T>()[c]) * row.normalized(c) + shift);
    }
  });
}

// Processes a few columns at a time, so that their sums fit on the stack; the rows' statistics are
// recomputed for each group.
template <class T>
void run(const RowNormBackwardWeight& op) {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t columns = channels_of(op.input);
  for (std::int64_t begin = 0; begin < columns; begin += kColumns) {
    const std::int64_t end = std::min(columns, begin + kColumns);
    std::array<double, kColumns> weight{}, bias{};
    for_rows<T>(op, [&](const Row<T>& row, std::int64_t first) {
      for (std::int64_t c = begin; c < end; ++c) {
        const double gradient = op.output_gradient.as<T>()[first + c];
        weight[static_cast<std::size_t>(c - begin)] += gradient * row.normalized(c);
        bias[static_cast<std::size_t>(c - begin)] += gradient;
      }
    });
    const auto store = [&](const std::array<double, kColumns>& sums, const Tensor& to) {
      for (std::int64_t c = begin; c < end; ++c)
        to.as<T>()[c] = static_cast<T>(sums[static_cast<std::size_t>(c - begin)]);
    };
    store(weight, op.weight_gradient);
    if (!op.bias_gradient.empty()) store(bias, op.bias_gradient);
  }
  if (!op.squared_norm.empty())
    *op.squared_norm.as<double>() =
        squared_norm<T>(op.weight_gradient) +
        (op.bias_gradient.empty() ? 0 : squared_norm<T>(op.bias_gradient));
}

template <class T>
void run(const RowNormBackwardInput& op) {
  for_rows<T>(op, [&](const Row<T>& row, std::int64_t first) {
    const auto scaled = [&](std::int64_t c) {
      return static_cast<double>(op.weight.as<T>()[c]) *
             static_cast<double>(op.output_gradient.as<T>()[first + c]);
    };
    double mean = 0, along = 0;
    for (std::int64_t c = 0; c < row.columns; ++c) {
      if (op.norm == RowNorm::layer) mean += scaled(c) / static_cast<double>(row.columns);
      along += scaled(c) * row.normalized(c) / static_cast<double>(row.columns);
    }
    for (std::int64_t c = 0; c < row.columns; ++c)
      op.input_gradient.as<T>()[first + c] =
          static_cast<T>((scaled(c) - mean - row.normalized(c) * along) * row.inverse_deviation);
  });
}

inline double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
inline double normal_density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

template <class T>
void run(const GeluForward& op) {
  for (std::int64_t i = 0; i < op.input.elements(); ++i) {
    const double x = op.input.as<T>()[i];
    op.output.as<T>()[i] = static_cast<T>(x * normal_distribution(x));
  }
}

template <class T>
void run(const GeluBackward& op) {
  for (std::int64_t i = 0; i < op.input.elements(); ++i) {
    const double x = op.input.as<T>()[i];
    op.input_gradient.as<T>()[i] =
        static_cast<T>(static_cast<double>(op.output_gradient.as<T>()[i]) *
                       (normal_distribution(x) + x * normal_density(x)));
  }
}

}  // namespace trainyard::compute::reference
