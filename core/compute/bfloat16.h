// SPDX-License-Identifier: GPL-3.0-or-later
// bfloat16 is the upper half of an fp32: 8 significant bits, and the exponent range of fp32.
#pragma once

#include "core/compute/compression/half.h"

namespace trainyard::compute {

// Rounds to the nearest bfloat16, ties to even. From 2^128 (1 - 2^-9) on the result is Inf; Inf and
// NaN are unchanged.
inline float rounded_to_bfloat16(float value) {
  return compression::Bf16::decode(compression::Bf16::encode(value));
}

}  // namespace trainyard::compute
