// SPDX-License-Identifier: GPL-3.0-or-later
// Loops of batch normalization over rows of channels and per-channel values. See kernels_body.h.
#pragma once

#include "backends/cpu/kernels_body.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

// Computes two sums per channel over rows [begin, end). Calls add(index, channel, piece, first,
// second) for up to eight channels of a row; it must add to both sums. `index` is the index of the
// first element in the matrix.
template <class T, class Add>
inline void sum_by_channel(std::int64_t columns, std::int64_t begin, std::int64_t end, double* sums,
                           const Add& add) {
  for_lanes(0, columns, [&](std::int64_t c, auto piece) {
    Doubles first{}, second{};
    for (std::int64_t row = begin; row < end; ++row)
      add(row * columns + c, c, piece, first, second);
    piece.template store<double>(sums + c, piece.template load<double>(sums + c) + first);
    piece.template store<double>(sums + columns + c,
                                 piece.template load<double>(sums + columns + c) + second);
  });
}

template <class T>
void channel_moments(const ChannelArguments<T>& a, std::int64_t begin, std::int64_t end,
                     double* sums) {
  sum_by_channel<T>(a.columns, begin, end, sums,
                    [&](std::int64_t i, std::int64_t, auto piece, Doubles& sum, Doubles& squares) {
                      const Doubles x = widen<T>(piece.template load<T>(a.values + i));
                      sum += x;
                      squares += x * x;
                    });
}

template <class T>
void channel_products(const ChannelArguments<T>& a, std::int64_t begin, std::int64_t end,
                      double* sums) {
  sum_by_channel<T>(
      a.columns, begin, end, sums,
      [&](std::int64_t i, std::int64_t c, auto piece, Doubles& products, Doubles& gradients) {
        const Lanes<T> centered =
            piece.template load<T>(a.values + i) - piece.template load<T>(a.mean + c);
        const Doubles g = widen<T>(piece.template load<T>(a.gradient + i));
        products += g * widen<T>(centered * piece.template load<T>(a.scale + c));
        gradients += g;
      });
}

template <class T>
void normalize(const ChannelArguments<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row)
    for_lanes(0, a.columns, [&](std::int64_t c, auto piece) {
      const std::int64_t i = row * a.columns + c;
      const Lanes<T> centered =
          piece.template load<T>(a.values + i) - piece.template load<T>(a.mean + c);
      piece.template store<T>(a.result + i, centered * piece.template load<T>(a.scale + c) +
                                                piece.template load<T>(a.shift + c));
    });
}

template <class T>
void normalize_backward(const ChannelArguments<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row)
    for_lanes(0, a.columns, [&](std::int64_t c, auto piece) {
      const std::int64_t i = row * a.columns + c;
      const Lanes<T> centered =
          piece.template load<T>(a.values + i) - piece.template load<T>(a.mean + c);
      const Lanes<T> own = piece.template load<T>(a.gradient + i) -
                           piece.template load<T>(a.shift + c) -
                           centered * piece.template load<T>(a.slope + c);
      piece.template store<T>(a.result + i, piece.template load<T>(a.scale + c) * own);
    });
}

}  // namespace
}  // namespace trainyard::cpu
