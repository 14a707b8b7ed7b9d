// SPDX-License-Identifier: GPL-3.0-or-later
// sign: a number x is sent as its sign and decoded as +-scale, where scale = (sum of |x|) / n
// (Karimireddy et al. 2019, "Error feedback fixes SignSGD", the scaled sign). Layout: the scale,
// then one bit per number, 1 for negative, the first number in the lowest bit. A non-finite number
// makes the scale non-finite.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::compute::compression {

// Returns the mean magnitude. Adds one number after another, as the format specifies.
inline float mean_magnitude_in_order(const float* values, std::int64_t elements) {
  double sum = 0;
  for (std::int64_t i = 0; i < elements; ++i) sum += std::fabs(static_cast<double>(values[i]));
  return static_cast<float>(sum / static_cast<double>(elements));
}

// Returns the same result as mean_magnitude_in_order, bit for bit, but is vectorized. In any order
// of addition, a sum of n non-negative numbers has a relative error of at most n 2^-53 (Higham
// 2002, 4.2). The sums of two orders therefore differ relatively by less than n 2^-51. Nearly
// always this interval rounds to a single fp32; otherwise the numbers are added one after another.
inline float mean_magnitude(const float* values, std::int64_t elements) {
  const std::int64_t even = elements / 8 * 8;
  Sums sums;
  sums.add(values, even, [](double value) { return std::fabs(value); });
  double sum = sums.total();
  for (std::int64_t i = even; i < elements; ++i) sum += std::fabs(static_cast<double>(values[i]));
  const auto n = static_cast<double>(elements);
  const double doubt = sum * n * 0x1p-51;
  const auto least = static_cast<float>((sum - doubt) / n),
             most = static_cast<float>((sum + doubt) / n);
  return least == most ? least : mean_magnitude_in_order(values, elements);
}

constexpr std::uint32_t sign_bit(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x80000000u;
}
constexpr float with_sign(float scale, std::uint32_t sign) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) ^ sign);
}

// Returns the signs of `count` numbers, at most 8, with the first in the lowest bit.
inline std::byte signs_of(const float* values, std::int64_t count) {
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < count; ++i) bits |= (sign_bit(values[i]) >> 31) << i;
  return static_cast<std::byte>(bits);
}

inline void encode_sign(Gradient& gradient, std::byte* encoded) {
  if (gradient.elements() == 0) return;
  const float scale = mean_magnitude(gradient.values(), gradient.elements());
  store(encoded, 0, scale);
  in_blocks(gradient.elements(), [&](std::int64_t first, std::int64_t count) {
    const float* const values = gradient.values() + first;
    std::byte* const signs = encoded + 4 + first / 8;
    for (std::int64_t i = 0; i < count / 8; ++i) signs[i] = signs_of(values + 8 * i, 8);
    if (count % 8 > 0) signs[count / 8] = signs_of(values + count / 8 * 8, count % 8);
    float sent[kBlock];
    for (std::int64_t i = 0; i < count; ++i) sent[i] = with_sign(scale, sign_bit(values[i]));
    gradient.sent(first, count, sent);
  });
}

// Adds +-scale to `count` numbers, at most 8.
inline void add_signs(std::byte signs, float scale, float* gradient, std::int64_t count) {
  constexpr std::uint32_t bit_of[] = {1, 2, 4, 8, 16, 32, 64, 128};
  for (std::int64_t i = 0; i < count; ++i)
    gradient[i] +=
        with_sign(scale, (static_cast<std::uint32_t>(signs) & bit_of[i]) != 0 ? 0x80000000u : 0);
}

inline void add_sign(const std::byte* encoded, float* gradient, std::int64_t elements) {
  if (elements == 0) return;
  const auto scale = load<float>(encoded, 0);
  const std::byte* const signs = encoded + 4;
  for (std::int64_t i = 0; i < elements / 8; ++i) add_signs(signs[i], scale, gradient + 8 * i, 8);
  if (elements % 8 > 0)
    add_signs(signs[elements / 8], scale, gradient + elements / 8 * 8, elements % 8);
}

}  // namespace trainyard::compute::compression
