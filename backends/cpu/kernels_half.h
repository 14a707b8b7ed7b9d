// SPDX-License-Identifier: GPL-3.0-or-later
// Conversions between fp32 and 16 bits. They give the same results as
// core/compute/compression/half.h, but share no code with it, because these files are compiled for
// newer CPUs (see kernels.h).
#pragma once

#include "backends/cpu/kernels_body.h"

namespace trainyard::cpu {
namespace {

inline std::int32_t bits_of(float value) {
  std::int32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float from_bits(std::int32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline void widen_bf16(const std::uint16_t* halves, float* values, std::int64_t begin,
                       std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    values[i] = from_bits(static_cast<std::int32_t>(static_cast<std::uint32_t>(halves[i]) << 16));
}

inline void round_bf16(const float* values, std::uint16_t* halves, std::int64_t begin,
                       std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const auto bits = static_cast<std::uint32_t>(bits_of(values[i]));
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16,
                        no_number = (bits >> 16) | 0x40U;
    halves[i] =
        static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? no_number : rounded);
  }
}

inline void widen_fp16(const std::uint16_t* halves, float* values, std::int64_t begin,
                       std::int64_t end) {
  constexpr std::int32_t bias =
      0x38000000;  // (127 - 15) at the exponent of fp32; added twice for Inf and NaN
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t half = halves[i], sign = (half & 0x8000) << 16, magnitude = half & 0x7FFF;
    const std::int32_t normal = (magnitude << 13) + bias + (magnitude < 0x7C00 ? 0 : bias),
                       subnormal = bits_of(static_cast<float>(magnitude) * 0x1p-24F);
    values[i] = from_bits(sign | (magnitude < 0x0400 ? subnormal : normal));
  }
}

inline void round_fp16(const float* values, std::uint16_t* halves, std::int64_t begin,
                       std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t bits = bits_of(values[i]), sign = (bits >> 16) & 0x8000,
                       magnitude = bits & 0x7FFFFFFF;
    const std::int32_t normal = (magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    // Rounds to a multiple of 2^-24, the spacing of fp16 subnormals, by adding 0.5.
    const std::int32_t subnormal = bits_of(from_bits(magnitude) + 0.5F) - 0x3F000000;
    const std::int32_t number = magnitude < 0x38800000 ? subnormal : normal,
                       rounded = number < 0x7C00 ? number : 0x7C00;
    halves[i] = static_cast<std::uint16_t>(sign | rounded | (magnitude > 0x7F800000 ? 0x200 : 0));
  }
}

template <class Piece>
inline Lanes<float> bf16_lanes(Piece piece, const std::uint16_t* from) {
  const Lanes<std::uint32_t> bits =
      __builtin_convertvector(piece.template load<std::uint16_t>(from), Lanes<std::uint32_t>) << 16;
  Lanes<float> lanes;
  __builtin_memcpy(&lanes, &bits, sizeof lanes);
  return lanes;
}

inline void column_sums_bf16(const std::uint16_t* matrix, std::int64_t rows, std::int64_t columns,
                             std::int64_t begin, std::int64_t end, float* sums) {
  sum_columns_of(matrix, rows, columns, begin, end, sums,
                 [](auto piece, const std::uint16_t* from) { return bf16_lanes(piece, from); });
}

}  // namespace
}  // namespace trainyard::cpu
