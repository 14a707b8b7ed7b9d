// SPDX-License-Identifier: GPL-3.0-or-later
// Compression to fp16 or bf16: every number is rounded to 16 bits. Each addition is computed in
// fp32 and rounded to 16 bits. So all algorithms that add in the same order give the same bits, on
// whichever rank they add.
#pragma once

#include <span>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"
#include "core/compute/compression/half.h"

namespace trainyard::compute::compression {

template <class Half>
void decode_cast(const std::byte* encoded, float* gradient, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i)
    gradient[i] = Half::decode(load<std::uint16_t>(encoded, i));
}

template <class Half>
void encode_cast(Gradient& gradient, std::byte* encoded) {
  in_blocks(gradient.elements(), [&](std::int64_t first, std::int64_t count) {
    const float* const values = gradient.values() + first;
    std::byte* const halves = encoded + 2 * first;
    float decoded[kBlock];
    for (std::int64_t i = 0; i < count; ++i) store(halves, i, Half::encode(values[i]));
    decode_cast<Half>(halves, decoded, count);
    gradient.sent(first, count, decoded);
  });
}

// Adds as `compute::Compute::sum` does.
template <class Half>
void sum_cast(std::byte* destination, std::span<const std::byte* const> sources,
              std::int64_t elements) {
  in_blocks(elements, [&](std::int64_t first, std::int64_t count) {
    std::uint16_t sum[kBlock];
    std::memcpy(sum, sources[0] + 2 * first, static_cast<std::size_t>(2 * count));
    for (const std::byte* source : sources.subspan(1))
      for (std::int64_t i = 0; i < count; ++i)
        sum[i] = Half::encode(Half::decode(sum[i]) +
                              Half::decode(load<std::uint16_t>(source, first + i)));
    std::memcpy(destination + 2 * first, sum, static_cast<std::size_t>(2 * count));
  });
}

}  // namespace trainyard::compute::compression
