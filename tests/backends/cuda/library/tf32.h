// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>

namespace trainyard::cuda::stand_in {

// Of 10 bits behind the point, as tensor cores take fp32 where they may.
inline float to_tf32(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~0x1FFFU);
}

}  // namespace trainyard::cuda::stand_in
