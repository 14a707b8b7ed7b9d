// SPDX-License-Identifier: GPL-3.0-or-later
// Loops of row normalization, which normalizes each row by its own statistics. See kernels_body.h.
#pragma once

#include "backends/cpu/kernels_body.h"

namespace trainyard::cpu {
namespace {

struct RowMoments {
  double mean, inverse_deviation;
};

// Computes mean and variance in two passes over a row. In the second pass, the row is in the L1
// cache. Lanes beyond the end of the row are excluded, because their zeros would add to the
// variance.
template <class T>
RowMoments row_moments(const RowArguments<T>& a, const T* row) {
  const double columns = static_cast<double>(a.columns);
  Doubles sum{};
  for_lanes(0, a.centered ? a.columns : 0,
            [&](std::int64_t c, auto piece) { sum += widen<T>(piece.template load<T>(row + c)); });
  const double mean = total(sum) / columns;
  Doubles squares{};
  std::int64_t c = 0;
  for (; c + kLanes <= a.columns; c += kLanes) {
    const Doubles centered = widen<T>(FullVector{}.load<T>(row + c)) - mean;
    squares += centered * centered;
  }
  double rest = 0;
  for (; c < a.columns; ++c)
    rest += (static_cast<double>(row[c]) - mean) * (static_cast<double>(row[c]) - mean);
  return {mean, 1 / __builtin_sqrt((total(squares) + rest) / columns + a.epsilon)};
}

template <class T>
void row_norm(const RowArguments<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T* const row = a.values + r * a.columns;
    const RowMoments moments = row_moments(a, row);
    const T mean = static_cast<T>(moments.mean), scale = static_cast<T>(moments.inverse_deviation);
    for_lanes(0, a.columns, [&](std::int64_t c, auto piece) {
      Lanes<T> output =
          (piece.template load<T>(row + c) - mean) * scale * piece.template load<T>(a.weight + c);
      if (a.bias != nullptr) output += piece.template load<T>(a.bias + c);
      piece.template store<T>(a.result + r * a.columns + c, output);
    });
  }
}

template <class T>
void row_norm_backward(const RowArguments<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T *const row = a.values + r * a.columns, *const gradient = a.gradient + r * a.columns;
    const RowMoments moments = row_moments(a, row);
    const T mean = static_cast<T>(moments.mean), scale = static_cast<T>(moments.inverse_deviation);
    const auto normalized = [&](std::int64_t c, auto piece) {
      return (piece.template load<T>(row + c) - mean) * scale;
    };
    const auto scaled = [&](std::int64_t c, auto piece) {
      return piece.template load<T>(gradient + c) * piece.template load<T>(a.weight + c);
    };
    Doubles sum{}, along{};
    for_lanes(0, a.columns, [&](std::int64_t c, auto piece) {
      const Doubles h = widen<T>(scaled(c, piece));
      sum += h;
      along += h * widen<T>(normalized(c, piece));
    });
    const double columns = static_cast<double>(a.columns);
    const T center = static_cast<T>(a.centered ? total(sum) / columns : 0),
            slope = static_cast<T>(total(along) / columns);
    for_lanes(0, a.columns, [&](std::int64_t c, auto piece) {
      piece.template store<T>(a.result + r * a.columns + c,
                              (scaled(c, piece) - center - normalized(c, piece) * slope) * scale);
    });
  }
}

template <class T>
void row_norm_products(const RowArguments<T>& a, std::int64_t begin, std::int64_t end,
                       double* sums) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T *const row = a.values + r * a.columns, *const gradient = a.gradient + r * a.columns;
    const RowMoments moments = row_moments(a, row);
    const T mean = static_cast<T>(moments.mean), scale = static_cast<T>(moments.inverse_deviation);
    for_lanes(0, a.columns, [&](std::int64_t c, auto piece) {
      const Doubles g = widen<T>(piece.template load<T>(gradient + c)),
                    xhat = widen<T>((piece.template load<T>(row + c) - mean) * scale);
      piece.template store<double>(sums + c, piece.template load<double>(sums + c) + g * xhat);
      piece.template store<double>(sums + a.columns + c,
                                   piece.template load<double>(sums + a.columns + c) + g);
    });
  }
}

}  // namespace
}  // namespace trainyard::cpu
