// SPDX-License-Identifier: GPL-3.0-or-later
// int8: of each 1024 numbers the scale = (greatest magnitude) / 127, and q = x / scale rounded to nearest; x is decoded as q scale. Lies as
// all scales, then all q. Where a number is not finite the scale is NaN, and so is what is decoded of all that share it.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"
#include "core/compute/compression/scheme.h"

namespace trainyard::compute::compression {

inline float int8_scale(const Gradient& gradient, std::int64_t begin, std::int64_t end) {
  std::uint32_t greatest = 0;
  for (std::int64_t i = begin; i < end; ++i) greatest = std::max(greatest, magnitude(gradient[i]));
  const auto value = std::bit_cast<float>(greatest);
  return is_finite(value) ? value / 127 : kNoNumber;
}

inline std::int8_t quantise(float value, float scale) {
  if (!(scale > 0)) return 0;
  return static_cast<std::int8_t>(std::clamp(std::nearbyintf(value / scale), -127.0F, 127.0F));
}

inline void encode_int8(Gradient& gradient, std::byte* encoded) {
  std::byte* const numbers = encoded + 4 * scales_of(gradient.elements());
  for (std::int64_t chunk = 0; chunk < scales_of(gradient.elements()); ++chunk) {
    const std::int64_t begin = chunk * kScaled, end = std::min(begin + kScaled, gradient.elements());
    const float scale = int8_scale(gradient, begin, end);
    store(encoded, chunk, scale);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int8_t q = quantise(gradient[i], scale);
      store(numbers, i, q);
      gradient.sent(i, static_cast<float>(q) * scale);
    }
  }
}

inline void add_int8(const std::byte* encoded, float* gradient, std::int64_t elements) {
  const std::byte* const numbers = encoded + 4 * scales_of(elements);
  for (std::int64_t i = 0; i < elements; ++i) gradient[i] += static_cast<float>(load<std::int8_t>(numbers, i)) * load<float>(encoded, i / kScaled);
}

}  // namespace trainyard::compute::compression
