// SPDX-License-Identifier: GPL-3.0-or-later
// top_k sends the k numbers of greatest magnitude. Of equal magnitudes it sends the first ones; NaN
// counts as the greatest. Layout: k indices (int32, ascending), then k numbers. What is not sent
// stays in the residual: sent + residual = gradient + old residual, bit for bit.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::compute::compression {

// Rule that selects the k numbers to send: all whose magnitude is above `magnitude`, and the first
// `equal` of exactly this magnitude.
struct Threshold {
  std::int32_t magnitude = 0;
  std::int64_t equal = 0;
};

// Returns the threshold that selects k numbers; k is at least 1. A histogram of the upper bits of
// magnitudes finds the bin of the threshold. Only the few numbers in this bin are copied to the
// scratch memory `room`, which has an element per number, and compared fully.
inline Threshold threshold(const float* values, std::int64_t elements, std::int64_t k,
                           std::vector<std::int32_t>& room) {
  constexpr int lower_bits = 20;
  std::array<std::int32_t, 1 << (31 - lower_bits)> numbers{};
  for (std::int64_t i = 0; i < elements; ++i)
    ++numbers[static_cast<std::size_t>(magnitude(values[i]) >> lower_bits)];
  auto upper = static_cast<std::int32_t>(numbers.size()) - 1;
  for (; numbers[static_cast<std::size_t>(upper)] < k; --upper)
    k -= numbers[static_cast<std::size_t>(upper)];

  auto end = room.begin();
  for (std::int64_t i = 0; i < elements; ++i) {
    *end = magnitude(values[i]);
    end += *end >> lower_bits == upper ? 1 : 0;
  }
  const auto last = room.begin() + k - 1;
  std::nth_element(room.begin(), last, end, std::greater<>());
  return {*last, std::count(room.begin(), last + 1, *last)};
}

// Encodes the gradient. The scratch memory `room` has one element more than the gradient has
// numbers.
inline void encode_top_k(Gradient& gradient, std::byte* encoded, std::int64_t k,
                         std::vector<std::int32_t>& room) {
  if (k == 0) return;
  Threshold least = threshold(gradient.values(), gradient.elements(), k, room);
  std::int64_t next = 0;
  in_blocks(gradient.elements(), [&](std::int64_t first, std::int64_t count) {
    std::array<std::uint8_t, kBlock> taken{};
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = gradient.values()[first + i];
      if (magnitude(value) < least.magnitude ||
          (magnitude(value) == least.magnitude && least.equal-- <= 0))
        continue;
      taken[static_cast<std::size_t>(i)] = 1;
      store(encoded, next, static_cast<std::int32_t>(first + i));
      store(encoded, k + next++, value);
    }
    gradient.sent_if(first, count, taken.data());
  });
}

inline void add_top_k(const std::byte* encoded, float* gradient, std::int64_t k) {
  for (std::int64_t i = 0; i < k; ++i)
    gradient[load<std::int32_t>(encoded, i)] += load<float>(encoded, k + i);
}

}  // namespace trainyard::compute::compression
