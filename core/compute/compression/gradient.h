// SPDX-License-Identifier: GPL-3.0-or-later
// What a scheme encodes: the gradient, or with error feedback the residual of the steps before plus the gradient, kept where the residual
// lies. What is not sent stays there. Without a residual nothing is kept; either way its squared norm is counted.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace trainyard::compute::compression {

// As a whole number that grows with the magnitude; Inf is above all numbers, and NaN above Inf.
inline std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu; }
inline bool is_finite(float value) { return magnitude(value) < 0x7F800000u; }

class Gradient {
 public:
  // `residual` may be null.
  Gradient(const float* gradient, float* residual, std::int64_t elements)
      : values_(residual != nullptr ? residual : gradient), residual_(residual), elements_(elements) {
    for (std::int64_t i = 0; residual != nullptr && i < elements; ++i) residual[i] += gradient[i];
  }

  std::int64_t elements() const { return elements_; }
  float operator[](std::int64_t i) const { return values_[i]; }

  // Element i was sent as `value`. What is left of a number that is not finite is not kept: it was sent as what it is, and would spoil
  // every later step.
  void sent(std::int64_t i, float value) {
    const float left = values_[i] - value;
    squared_error_ += static_cast<double>(left) * static_cast<double>(left);
    if (residual_ != nullptr) residual_[i] = is_finite(left) ? left : 0;
  }
  // Element i was not sent.
  void left(std::int64_t i) { squared_error_ += static_cast<double>(values_[i]) * static_cast<double>(values_[i]); }

  double squared_error() const { return squared_error_; }

 private:
  const float* values_;
  float* residual_;
  std::int64_t elements_;
  double squared_error_ = 0;
};

inline constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

}  // namespace trainyard::compute::compression
