// SPDX-License-Identifier: GPL-3.0-or-later
// What is compressed of a gradient, as core/compute/compression/gradient.h says it: with a residual
// that and the gradient, and what is not sent stays there. Nothing is stored before it is known
// what was sent.
#pragma once

#include "backends/cuda/module/kernels/sums.h"
#include "core/compute/compression/gradient.h"

namespace trainyard::cuda {

namespace compression = compute::compression;

struct Whole {
  const float* gradient;
  float* residual;  // null: there is none
  std::int64_t elements;

  explicit Whole(const compute::CompressGradient& op)
      : gradient(op.gradient.as<float>()),
        residual(op.residual.as<float>()),
        elements(op.gradient.elements()) {}

  ON_DEVICE float operator[](std::int64_t i) const {
    return residual != nullptr ? residual[i] + gradient[i] : gradient[i];
  }

  // Number i, which is `value`, was sent as `sent`: the square of what is left.
  ON_DEVICE double sent(std::int64_t i, float value, float sent) const {
    const float left = value - sent;
    if (residual != nullptr) residual[i] = compression::is_finite(left) ? left : 0;
    return static_cast<double>(left) * static_cast<double>(left);
  }
  // It was sent as it is, or not at all.
  ON_DEVICE double sent_if(std::int64_t i, float value, bool taken) const {
    const float left = value - (taken ? value : 0);
    if (residual != nullptr) residual[i] = taken ? 0 : value;
    return static_cast<double>(left) * static_cast<double>(left);
  }
};

// The sum of value(i), which are squares of what was not sent.
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
