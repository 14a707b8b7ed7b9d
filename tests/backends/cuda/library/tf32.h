// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard::cuda::stand_in {

// Truncates to 10 bits of mantissa, as tensor cores do with TF32.
inline float to_tf32(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~0x1FFFU);
}

}  // namespace trainyard::cuda::stand_in
