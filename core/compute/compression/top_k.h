// SPDX-License-Identifier: GPL-3.0-or-later
// top_k: the k numbers of greatest magnitude, of equal ones the first; NaN counts as greater than all. Lies as k places (int32, rising),
// then k numbers. What is not sent stays in the residual: sent + residual = gradient + old residual, bit for bit.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::compute::compression {

// `places` is room for a number each.
inline void encode_top_k(Gradient& gradient, std::byte* encoded, std::int64_t k, std::vector<std::int32_t>& places) {
  std::iota(places.begin(), places.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const std::uint32_t of_a = magnitude(gradient[a]), of_b = magnitude(gradient[b]);
    return of_a != of_b ? of_a > of_b : a < b;
  };
  std::nth_element(places.begin(), places.begin() + k, places.end(), before);
  std::sort(places.begin(), places.begin() + k);
  for (auto place = places.begin() + k; place != places.end(); ++place) gradient.left(*place);
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int32_t place = places[static_cast<std::size_t>(i)];
    store(encoded, i, place);
    store(encoded, k + i, gradient[place]);
    gradient.sent(place, gradient[place]);
  }
}

inline void add_top_k(const std::byte* encoded, float* gradient, std::int64_t k) {
  for (std::int64_t i = 0; i < k; ++i) gradient[load<std::int32_t>(encoded, i)] += load<float>(encoded, k + i);
}

}  // namespace trainyard::compute::compression
