// SPDX-License-Identifier: GPL-3.0-or-later
// Conversion of fp32 to 16 bits and back, rounded to nearest, ties to even. Overflow becomes Inf;
// Inf and NaN are unchanged. The code computes all cases and selects one, so that compilers can
// vectorize loops.
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard::compute::compression {

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
struct Fp16 {
  static constexpr std::uint16_t encode(float value) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    const std::int32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7FFFFFFF;
    const std::int32_t normal = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    // 0x3F000000 is 0.5, whose last mantissa bit in fp32 has the value of the smallest fp16
    // subnormal.
    const std::int32_t subnormal =
        std::bit_cast<std::int32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000;
    // Subnormal below 2^-14.
    const std::int32_t number = magnitude < 0x38800000 ? subnormal : normal;
    const std::int32_t rounded = number < 0x7C00 ? number : 0x7C00;
    return static_cast<std::uint16_t>(sign | rounded | (magnitude > 0x7F800000 ? 0x200 : 0));
  }

  static constexpr float decode(std::uint16_t half) {
    // 127 - 15 (difference of the biases) in the exponent field of fp32; added twice for Inf and
    // NaN.
    constexpr std::int32_t bias = 0x38000000;
    const std::int32_t sign = (half & 0x8000) << 16, magnitude = half & 0x7FFF;
    const std::int32_t normal = (magnitude << 13) + bias + (magnitude < 0x7C00 ? 0 : bias);
    const std::int32_t subnormal =
        std::bit_cast<std::int32_t>(static_cast<float>(magnitude) * 0x1p-24F);
    return std::bit_cast<float>(sign | (magnitude < 0x0400 ? subnormal : normal));
  }
};

// Upper half of an fp32.
struct Bf16 {
  static constexpr std::uint16_t encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16,
                        no_number = (bits >> 16) | 0x40u;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? no_number : rounded);
  }

  static constexpr float decode(std::uint16_t half) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  }
};

}  // namespace trainyard::compute::compression
