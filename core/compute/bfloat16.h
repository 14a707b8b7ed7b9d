// SPDX-License-Identifier: GPL-3.0-or-later
// bfloat16, the upper half of an fp32: 8 significant bits, the exponents of fp32.
#pragma once

#include "core/compute/compression/half.h"

namespace trainyard::compute {

// The nearest bfloat16, of two equally near ones the even one. From 2^128 (1 - 2^-9) on it is Inf;
// Inf and NaN stay what they are.
inline float rounded_to_bfloat16(float value) {
  return compression::Bf16::decode(compression::Bf16::encode(value));
}

}  // namespace trainyard::compute
