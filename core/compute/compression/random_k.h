// SPDX-License-Identifier: GPL-3.0-or-later
// random_k: k numbers at places that are drawn anew each step, the same on all ranks, so that only numbers travel and can be added up. They
// are not scaled by n / k: what is not sent stays in the residual, and sent + residual = gradient + old residual, bit for bit. Where any
// number is not finite the first that is sent is NaN, for the others might not be drawn for long.
//
// The places: Floyd's sample (Bentley and Floyd 1987). For j from n - k to n - 1, t below j + 1 is drawn; t is taken, or j where t was.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/random.h"
#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::compute::compression {

class RandomPlaces {
 public:
  RandomPlaces(std::int64_t elements, std::int64_t k) : elements_(elements), k_(k), drawn_(static_cast<std::size_t>(elements) + 1) {}

  void draw(std::uint64_t seed, std::uint32_t bucket, std::uint64_t step) {
    const base::Random random(base::Random(seed, base::Purpose::compress, bucket).bits(step), base::Purpose::compress, bucket);
    std::fill(drawn_.begin(), drawn_.end(), std::uint8_t{0});
    for (std::int64_t j = elements_ - k_; j < elements_; ++j) {
      const auto t = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(j) + 1));
      drawn_[drawn_[t] == 0 ? t : static_cast<std::size_t>(j)] = 1;
    }
  }
  std::int64_t elements() const { return elements_; }
  const std::uint8_t* drawn() const { return drawn_.data(); }

  // `visit`(place), in rising order.
  template <class Visit>
  void each(const Visit& visit) const {
    const std::uint8_t *const begin = drawn_.data(), *const end = begin + elements_;
    const auto next = [end](const std::uint8_t* from) { return static_cast<const std::uint8_t*>(std::memchr(from, 1, static_cast<std::size_t>(end - from))); };
    for (const std::uint8_t* at = next(begin); at != nullptr; at = next(at + 1)) visit(at - begin);
  }

 private:
  std::int64_t elements_, k_;
  std::vector<std::uint8_t> drawn_;  // 1: taken; one more than there are, so that there is a first
};

inline void encode_random_k(Gradient& gradient, std::byte* encoded, const RandomPlaces& places) {
  std::int64_t next = 0;
  places.each([&](std::int64_t place) { store(encoded, next++, gradient.values()[place]); });
  in_blocks(gradient.elements(), [&](std::int64_t first, std::int64_t count) {
    if (greatest_magnitude(gradient.values() + first, count) >= magnitude(kInf)) store(encoded, 0, kNoNumber);
    gradient.sent_if(first, count, places.drawn() + first);
  });
}

inline void decode_random_k(const std::byte* encoded, float* gradient, const RandomPlaces& places) {
  std::int64_t next = 0;
  std::fill_n(gradient, places.elements(), 0.0F);
  places.each([&](std::int64_t place) { gradient[place] = load<float>(encoded, next++); });
}

}  // namespace trainyard::compute::compression
