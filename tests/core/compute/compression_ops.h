// SPDX-License-Identifier: GPL-3.0-or-later
// Common parts of compression tests: numbers as tensors, and an op on the oracle.
#pragma once

#include <limits>
#include <vector>

#include "core/compute/ops.h"

namespace trainyard::compute::compression {

inline constexpr float kInf = std::numeric_limits<float>::infinity(),
                       kNaN = std::numeric_limits<float>::quiet_NaN();

inline Tensor flat(std::vector<float>& values) {
  return {DType::fp32, {std::ssize(values)}, reinterpret_cast<std::byte*>(values.data())};
}
inline Tensor flat(std::vector<double>& values) {
  return {DType::fp64, {std::ssize(values)}, reinterpret_cast<std::byte*>(values.data())};
}

void run(const Op& op);

}  // namespace trainyard::compute::compression
