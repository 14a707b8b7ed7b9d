// SPDX-License-Identifier: GPL-3.0-or-later
// What the host makes for a tensor, or wants of it, wherever that lies.
#pragma once

#include <cstring>
#include <vector>

#include "core/compute/compute.h"

namespace trainyard::compute {

// Of a device whose memory the host reaches, or of none.
inline bool is_reached(const Compute* device) { return device == nullptr || device->on_host(); }

inline void bring(Compute* device, std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (is_reached(device)) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else device->copy(to, from, bytes);
}

// Where the host has a tensor: itself, or of its kind in `memory`, zero.
inline Tensor on_host(Compute* device, const Tensor& tensor, std::vector<std::byte>& memory) {
  if (is_reached(device) || tensor.empty()) return tensor;
  memory.assign(static_cast<std::size_t>(tensor.bytes()), std::byte{});
  return {tensor.dtype, tensor.shape, memory.data()};
}

// fill(tensor) writes all of it, where it lies, or in the host's memory before it is brought there.
template <class Fill>
void fill(Compute* device, const Tensor& tensor, const Fill& fill_it) {
  if (is_reached(device) || tensor.empty()) return fill_it(tensor);
  std::vector<std::byte> memory;
  const Tensor made = on_host(device, tensor, memory);
  fill_it(made);
  device->copy(tensor.data, made.data, tensor.bytes());
}

// What a tensor holds, for the host to look at: itself, or a copy in `memory`.
inline Tensor seen(Compute* device, const Tensor& tensor, std::vector<std::byte>& memory) {
  const Tensor copy = on_host(device, tensor, memory);
  if (copy.data != tensor.data) device->copy(copy.data, tensor.data, tensor.bytes());
  return copy;
}

}  // namespace trainyard::compute
