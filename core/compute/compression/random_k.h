// SPDX-License-Identifier: GPL-3.0-or-later
// random_k sends k numbers at random indices, which are drawn for each step and are the same on all
// ranks. So only the numbers are sent, and they can be all-reduced. They are not scaled by n / k:
// what is not sent stays in the residual. sent + residual = gradient + old residual holds bit for
// bit. If any number is not finite, the first number sent is NaN, because it might take long until
// a non-finite number is drawn.
//
// The indices are the first k of a random permutation (shuffle.h). The numbers are sent in this
// order.
#pragma once

#include <algorithm>
#include <vector>

#include "core/compute/compression/bytes.h"
#include "core/compute/compression/gradient.h"
#include "core/compute/compression/shuffle.h"

namespace trainyard::compute::compression {

constexpr Shuffle shuffle_of_step(std::uint64_t seed, std::uint32_t bucket, std::uint64_t step,
                                  std::int64_t elements) {
  return {base::Random(base::Random(seed, base::Purpose::compress, bucket).bits(step),
                       base::Purpose::compress, bucket),
          elements};
}

class RandomIndices {
 public:
  RandomIndices(std::int64_t elements, std::int64_t k)
      : places_(static_cast<std::size_t>(k)), drawn_(static_cast<std::size_t>(elements)) {}

  void draw(const Shuffle& shuffle) {
    for (const std::int64_t place : places_) drawn_[static_cast<std::size_t>(place)] = 0;
    // iterations are independent, so that the CPU can overlap them
    for (std::size_t i = 0; i < places_.size(); ++i)
      places_[i] = shuffle.next(static_cast<std::int64_t>(i));
    for (std::int64_t& place : places_) {
      if (place >= elements()) place = shuffle.place(place);
      drawn_[static_cast<std::size_t>(place)] = 1;
    }
  }
  std::int64_t elements() const { return std::ssize(drawn_); }
  const std::vector<std::int64_t>& in_order() const { return places_; }
  // For each number of the gradient: 1 if the number was drawn, else 0.
  const std::uint8_t* drawn() const { return drawn_.data(); }

 private:
  std::vector<std::int64_t> places_;
  std::vector<std::uint8_t> drawn_;
};

inline void encode_random_k(Gradient& gradient, std::byte* encoded, const RandomIndices& places) {
  std::int64_t next = 0;
  for (const std::int64_t place : places.in_order())
    store(encoded, next++, gradient.values()[place]);
  in_blocks(gradient.elements(), [&](std::int64_t first, std::int64_t count) {
    if (max_magnitude(gradient.values() + first, count) >= magnitude(kInf))
      store(encoded, 0, kNoNumber);
    gradient.sent_if(first, count, places.drawn() + first);
  });
}

inline void decode_random_k(const std::byte* encoded, float* gradient,
                            const RandomIndices& places) {
  std::int64_t next = 0;
  std::fill_n(gradient, places.elements(), 0.0F);
  for (const std::int64_t place : places.in_order()) gradient[place] = load<float>(encoded, next++);
}

}  // namespace trainyard::compute::compression
