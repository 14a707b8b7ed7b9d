// SPDX-License-Identifier: GPL-3.0-or-later
// Input of a compression scheme. With error feedback, the input is the residual of earlier steps
// plus the gradient, and what is not sent becomes the new residual. Without error feedback, the
// input is the gradient, and what is not sent is lost. In both cases the squared norm of what is
// not sent is computed.
//
// Schemes work on blocks that fit in the L1 cache. Their loops select values without branches, so
// that compilers can vectorize them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/compute/compression/scheme.h"

namespace trainyard::compute::compression {

inline constexpr std::int64_t kBlock = kScaled;

// Calls work(first, count) for each block; blocks have kBlock numbers except the last.
template <class Work>
void in_blocks(std::int64_t elements, const Work& work) {
  for (std::int64_t first = 0; first < elements; first += kBlock)
    work(first, std::min(kBlock, elements - first));
}

// Returns an integer that increases with the magnitude of the number. The integer of Inf is above
// those of all finite numbers, and the integer of NaN is above that of Inf.
constexpr std::int32_t magnitude(float value) {
  return std::bit_cast<std::int32_t>(value) & 0x7FFFFFFF;
}
inline constexpr float kInf = std::numeric_limits<float>::infinity(),
                       kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr bool is_finite(float value) { return magnitude(value) < magnitude(kInf); }

inline std::int32_t max_magnitude(const float* values, std::int64_t count) {
  std::array<std::int32_t, 16> greatest{};
  const std::int64_t even = count / 16 * 16;
  for (std::int64_t i = 0; i < even; i += 16)
    for (std::size_t j = 0; j < 16; ++j)
      greatest[j] = std::max(greatest[j], magnitude(values[i + static_cast<std::int64_t>(j)]));
  for (std::int64_t i = even; i < count; ++i)
    greatest[0] = std::max(greatest[0], magnitude(values[i]));
  return *std::max_element(greatest.begin(), greatest.end());
}

// Sums in eight partial sums, which are added at the end. The order is fixed, so the result is
// reproducible.
class Sums {
 public:
  // Adds of(value) for each value in `values`. `count` must be a multiple of 8.
  template <class Number, class Of>
  void add(const Number* values, std::int64_t count, const Of& of) {
    std::array<double, 8> sums = sums_;
    for (std::int64_t i = 0; i < count; i += 8)
      for (std::size_t j = 0; j < 8; ++j)
        sums[j] += of(static_cast<double>(values[i + static_cast<std::int64_t>(j)]));
    sums_ = sums;
  }
  double total() const { return std::accumulate(sums_.begin(), sums_.end(), 0.0); }

 private:
  std::array<double, 8> sums_{};
};

class Gradient {
 public:
  // Adds the gradient to the residual. `residual` is null without error feedback.
  Gradient(const float* gradient, float* residual, std::int64_t elements)
      : values_(residual != nullptr ? residual : gradient),
        residual_(residual),
        elements_(elements) {
    for (std::int64_t i = 0; residual != nullptr && i < elements; ++i) residual[i] += gradient[i];
  }

  std::int64_t elements() const { return elements_; }
  const float* values() const { return values_; }

  // Records the values `sent` of a block, and keeps the differences from the input in the residual.
  // A difference that is not finite is not kept, because it would make every later step non-finite.
  void sent(std::int64_t first, std::int64_t count, const float* sent) {
    std::array<float, kBlock> left;
    for (std::int64_t i = 0; i < count; ++i) left[at(i)] = values_[first + i] - sent[i];
    count_error(left, count);
    for (std::int64_t i = 0; residual_ != nullptr && i < count; ++i)
      residual_[first + i] = is_finite(left[at(i)]) ? left[at(i)] : 0;
  }

  // Records which numbers of a block were sent: unchanged where `taken` is 1, not at all where it
  // is 0.
  void sent_if(std::int64_t first, std::int64_t count, const std::uint8_t* taken) {
    std::array<float, kBlock> left;
    for (std::int64_t i = 0; i < count; ++i)
      left[at(i)] = values_[first + i] - (taken[i] != 0 ? values_[first + i] : 0);
    count_error(left, count);
    for (std::int64_t i = 0; residual_ != nullptr && i < count; ++i)
      residual_[first + i] = taken[i] != 0 ? 0 : residual_[first + i];
  }

  double squared_error() const { return squares_.total(); }

 private:
  static constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  void count_error(std::array<float, kBlock>& left, std::int64_t count) {
    const std::int64_t padded = (count + 7) / 8 * 8;
    std::fill(left.begin() + count, left.begin() + padded, 0.0F);
    squares_.add(left.data(), padded, [](double value) { return value * value; });
  }

  const float* values_;
  float* residual_;
  std::int64_t elements_;
  Sums squares_;
};

}  // namespace trainyard::compute::compression
