// SPDX-License-Identifier: GPL-3.0-or-later
// fp32 to 16 bits and back, rounded to nearest, ties to even. What is too large becomes Inf; Inf and NaN stay what they are.
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard::compute::compression {

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
struct Fp16 {
  static std::uint16_t encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
    if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // from 65520 on
    if (magnitude < 0x38800000u) {                                                    // below 2^-14: 0.5 has the last bit where a subnormal has it
      const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3F000000u));
    }
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13));
  }

  static float decode(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
    if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
    if (magnitude < 0x0400u) return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F));
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  }
};

// The upper half of an fp32.
struct Bf16 {
  static std::uint16_t encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  }

  static float decode(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }
};

}  // namespace trainyard::compute::compression
