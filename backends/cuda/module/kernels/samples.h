// SPDX-License-Identifier: GPL-3.0-or-later
// Decodes samples that are transferred as bytes.
#pragma once

#include "backends/cuda/module/kernels/map.h"

namespace trainyard::cuda {

// Computes to[i] = value_of[bytes[i]]. The bytes may be in host memory that the device can access;
// each is read once.
template <class W>
void decode_as(Stream& stream, const Tensor& to, const std::uint8_t* bytes, const float* value_of) {
  const bool fit = Vector4<W>::fit(to) && reinterpret_cast<std::uintptr_t>(bytes) % kNeighbors == 0;
  const std::int64_t count = to.elements(), together = fit ? count / kNeighbors : 0,
                     first = together * kNeighbors;
  for_each(stream, together, [=] ON_DEVICE(std::int64_t at) {
    const std::uint32_t packed = reinterpret_cast<const std::uint32_t*>(bytes)[at];
    Vector4<W> values{};
    for (int k = 0; k < kNeighbors; ++k) values.put(to.dtype, k, value_of[packed >> (8 * k) & 255]);
    values.store(to, at);
  });
  for_each(stream, count - first, [=] ON_DEVICE(std::int64_t rest) {
    put(to, first + rest, static_cast<W>(value_of[bytes[first + rest]]));
  });
}

}  // namespace trainyard::cuda
