// SPDX-License-Identifier: GPL-3.0-or-later
// sign: x is decoded as +-scale, where scale = (sum of |x|) / n (Karimireddy et al. 2019, "Error feedback fixes SignSGD", the scaled sign).
// Lies as the scale, then a bit a number, 1 for a negative one, the first in the lowest bit. A number that is not finite makes the scale so.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::compute::compression {

inline float mean_magnitude(const Gradient& gradient) {
  double sum = 0;
  for (std::int64_t i = 0; i < gradient.elements(); ++i) sum += std::fabs(static_cast<double>(gradient[i]));
  return static_cast<float>(sum / static_cast<double>(gradient.elements()));
}

inline void encode_sign(Gradient& gradient, std::byte* encoded) {
  if (gradient.elements() == 0) return;
  const float scale = mean_magnitude(gradient);
  store(encoded, 0, scale);
  for (std::int64_t first = 0; first < gradient.elements(); first += 8) {
    unsigned bits = 0;
    for (std::int64_t i = first; i < std::min(first + 8, gradient.elements()); ++i) {
      const bool negative = std::signbit(gradient[i]);
      bits |= static_cast<unsigned>(negative) << (i - first);
      gradient.sent(i, negative ? -scale : scale);
    }
    encoded[4 + first / 8] = static_cast<std::byte>(bits);
  }
}

inline void add_sign(const std::byte* encoded, float* gradient, std::int64_t elements) {
  if (elements == 0) return;
  const auto scale = load<float>(encoded, 0);
  for (std::int64_t i = 0; i < elements; ++i) {
    const bool negative = ((static_cast<unsigned>(encoded[4 + i / 8]) >> (i % 8)) & 1u) != 0;
    gradient[i] += negative ? -scale : scale;
  }
}

}  // namespace trainyard::compute::compression
