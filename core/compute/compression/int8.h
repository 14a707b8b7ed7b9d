// SPDX-License-Identifier: GPL-3.0-or-later
// Compression to int8. Each block of 1024 numbers has scale = (greatest magnitude) / 127. Each
// number x is sent as q = x / scale, rounded to nearest, and decoded as q scale. Layout: all
// scales, then all q. If any number of a block is not finite, the scale is NaN, and so are all
// decoded numbers of the block.
#pragma once

#include <algorithm>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::compute::compression {

// Returns the scale of a block. `greatest` is the greatest magnitude, as an integer (gradient.h).
constexpr float int8_scale(std::int32_t greatest) {
  const auto number = std::bit_cast<float>(greatest);
  return is_finite(number) ? number / 127 : kNoNumber;
}

// Rounds value / scale to nearest, ties to even, by adding 1.5 * 2^23: an fp32 of this size has no
// fraction bits. |value / scale| is at most 191, which occurs for subnormal scales.
constexpr std::int8_t quantize(float value, float scale) {
  constexpr float beside = 0x1.8p23F;
  const std::int32_t q =
      std::bit_cast<std::int32_t>(value / scale + beside) - std::bit_cast<std::int32_t>(beside);
  return static_cast<std::int8_t>(
      std::clamp<std::int16_t>(static_cast<std::int16_t>(q), -127, 127));
}

inline void encode_int8(Gradient& gradient, std::byte* encoded) {
  std::byte* const numbers = encoded + 4 * scales_of(gradient.elements());
  in_blocks(gradient.elements(), [&](std::int64_t first, std::int64_t count) {
    const float* const values = gradient.values() + first;
    const float scale = int8_scale(max_magnitude(values, count));
    store(encoded, first / kScaled, scale);
    std::int8_t block[kBlock] = {};
    for (std::int64_t i = 0; scale > 0 && i < count; ++i) block[i] = quantize(values[i], scale);
    std::memcpy(numbers + first, block, static_cast<std::size_t>(count));
    float sent[kBlock];
    for (std::int64_t i = 0; i < count; ++i) sent[i] = static_cast<float>(block[i]) * scale;
    gradient.sent(first, count, sent);
  });
}

inline void add_int8(const std::byte* encoded, float* gradient, std::int64_t elements) {
  const auto* const numbers =
      reinterpret_cast<const std::int8_t*>(encoded + 4 * scales_of(elements));
  in_blocks(elements, [&](std::int64_t first, std::int64_t count) {
    const auto scale = load<float>(encoded, first / kScaled);
    for (std::int64_t i = first; i < first + count; ++i)
      gradient[i] += static_cast<float>(numbers[i]) * scale;
  });
}

}  // namespace trainyard::compute::compression
