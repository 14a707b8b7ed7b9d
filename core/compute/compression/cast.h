// SPDX-License-Identifier: GPL-3.0-or-later
// fp16 and bf16: every number rounded to 16 bits. Sums are carried in fp32 and rounded to 16 bits after each addition, so that every
// algorithm that adds in one order gives the same bits, whatever was added up where.
#pragma once

#include <span>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"
#include "core/compute/compression/half.h"

namespace trainyard::compute::compression {

template <class Half>
void encode_cast(Gradient& gradient, std::byte* encoded) {
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    const std::uint16_t half = Half::encode(gradient[i]);
    store(encoded, i, half);
    gradient.sent(i, Half::decode(half));
  }
}

template <class Half>
void decode_cast(const std::byte* encoded, float* gradient, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) gradient[i] = Half::decode(load<std::uint16_t>(encoded, i));
}

// As compute::Compute::sum.
template <class Half>
void sum_cast(std::byte* destination, std::span<const std::byte* const> sources, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::uint16_t sum = load<std::uint16_t>(sources[0], i);
    for (std::size_t s = 1; s < sources.size(); ++s) sum = Half::encode(Half::decode(sum) + Half::decode(load<std::uint16_t>(sources[s], i)));
    store(destination, i, sum);
  }
}

}  // namespace trainyard::compute::compression
