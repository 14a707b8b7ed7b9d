// SPDX-License-Identifier: GPL-3.0-or-later
// Loops over rows of attention scores. Attention runs them between its matrix products. See
// kernels_body.h.
#pragma once

#include "backends/cpu/kernels_body.h"

namespace trainyard::cpu {
namespace {

// Computes e^x for x <= 0. With x = n ln 2 + r and |r| <= ln 2 / 2, e^x is 2^n e^r. e^r is computed
// by its Taylor series up to the 7th power; the next term is below half a unit in the last place. n
// is added to the exponent. Returns 0 for x below -87, where results would be almost subnormal.
inline Lanes<float> exponential(Lanes<float> x) {
  constexpr float kFactors[] = {1 / 120.0f, 1 / 24.0f, 1 / 6.0f, 0.5f, 1.0f, 1.0f};
  constexpr float kToNearest = 0x1.8p23f, kLog2 = 1.44269504088896341f, kHigh = 0x1.62e4p-1f,
                  kLow = 0x1.7f7d1cp-20f;
  const Lanes<float> bounded = x < -87.0f ? Lanes<float>{} - 87.0f : x;
  const Lanes<float> shifted = bounded * kLog2 + kToNearest, n = shifted - kToNearest;
  const Lanes<float> r = (bounded - n * kHigh) - n * kLow;
  Lanes<float> power = r * (1 / 5040.0f) + 1 / 720.0f;
  for (const float factor : kFactors) power = power * r + factor;
  typedef std::int32_t Integers
      __attribute__((vector_size(kLanes * sizeof(std::int32_t))));  // NOLINT(modernize-use-using)
  const Integers exponent = (__builtin_convertvector(n, Integers) + 127) << 23;
  Lanes<float> scale;
  __builtin_memcpy(&scale, &exponent, sizeof scale);
  return x < -87.0f ? Lanes<float>{} : power * scale;
}

inline Lanes<double> exponential(Lanes<double> x) {
  Lanes<double> power;
  for (std::int64_t i = 0; i < kLanes; ++i) power[i] = __builtin_exp(x[i]);
  return power;
}

template <class T>
T largest_of(const T* row, std::int64_t count) {
  T largest = row[0];
  for (std::int64_t c = 1; c < count; ++c) largest = row[c] > largest ? row[c] : largest;
  return largest;
}

template <class T>
void causal_softmax(T* scores, std::int64_t rows, std::int64_t columns, std::int64_t first,
                    T scale) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const row = scores + r * columns;
    const std::int64_t count = first + r;
    const T shift = largest_of(row, count) * scale;
    T sum = 0;
    for_lanes(0, count, [&](std::int64_t c, auto piece) {
      piece.template store<T>(row + c,
                              exponential(piece.template load<T>(row + c) * scale - shift));
    });
    Doubles sums{};
    for_lanes(0, count, [&](std::int64_t c, auto piece) {
      sums += widen<T>(piece.template load<T>(row + c));
    });
    sum = static_cast<T>(1 / total(sums));
    for_lanes(0, count, [&](std::int64_t c, auto piece) {
      piece.template store<T>(row + c, piece.template load<T>(row + c) * sum);
    });
    for (std::int64_t c = count; c < columns; ++c) row[c] = 0;
  }
}

template <class T>
void softmax_backward(const T* parts, const T* means, T* gradients, std::int64_t rows,
                      std::int64_t columns, T scale) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* const part = parts + r * columns;
    T* const gradient = gradients + r * columns;
    const T mean = means[r];
    for_lanes(0, columns, [&](std::int64_t c, auto piece) {
      piece.template store<T>(gradient + c, (piece.template load<T>(gradient + c) - mean) *
                                                piece.template load<T>(part + c) * scale);
    });
  }
}

}  // namespace
}  // namespace trainyard::cpu
