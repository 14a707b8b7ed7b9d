// SPDX-License-Identifier: GPL-3.0-or-later
// Values to compress, as in core/compute/compression/gradient.h: the gradient, plus the residual if
// there is one. What is not sent stays in the residual, which is written once it is known what is
// sent.
#pragma once

#include "backends/cuda/module/kernels/sums.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::cuda {

namespace compression = compute::compression;

struct Whole {
  const float* gradient;
  float* residual;  // null if there is none
  std::int64_t elements;

  explicit Whole(const compute::CompressGradient& op)
      : gradient(op.gradient.as<float>()),
        residual(op.residual.as<float>()),
        elements(op.gradient.elements()) {}

  ON_DEVICE float operator[](std::int64_t i) const {
    return residual != nullptr ? residual[i] + gradient[i] : gradient[i];
  }

  // Sets the residual of element i to `value` (exact) minus `sent` (as sent). Returns the squared
  // error.
  ON_DEVICE double sent(std::int64_t i, float value, float sent) const {
    const float left = value - sent;
    if (residual != nullptr) residual[i] = compression::is_finite(left) ? left : 0;
    return static_cast<double>(left) * static_cast<double>(left);
  }
  // Sets the residual of element i for a number that was sent exactly (`taken`) or not at all.
  // Returns the squared error.
  ON_DEVICE double sent_if(std::int64_t i, float value, bool taken) const {
    const float left = value - (taken ? value : 0);
    if (residual != nullptr) residual[i] = taken ? 0 : value;
    return static_cast<double>(left) * static_cast<double>(left);
  }
};

// Sums the squared errors value(i) of the compression over i in [0, count).
template <class Value>
void sum_errors(Stream& stream, const compute::CompressGradient& op, std::int64_t count,
                double* memory, Value value) {
  sum_all<1>(
      stream, count, memory, [=] ON_DEVICE(std::int64_t i) { return Sums<1>{{value(i)}}; },
      [squared_error = op.squared_error] ON_DEVICE(const Sums<1>& all) {
        *as<double>(squared_error) = all.value[0];
      });
}

}  // namespace trainyard::cuda
