// SPDX-License-Identifier: GPL-3.0-or-later
// Access of the host to tensors in memory of the host or of a device.
#pragma once

#include <cstring>
#include <vector>

#include "core/compute/compute.h"

namespace trainyard::compute {

// True if the host can access the device's memory, or if there is no device.
inline bool is_host_accessible(const Compute* device) {
  return device == nullptr || device->on_host();
}

inline void host_copy(Compute* device, std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (is_host_accessible(device)) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else device->copy(to, from, bytes);
}

// Returns a tensor that the host can access: the tensor itself, or a zero-initialized tensor of the
// same type in `memory`.
inline Tensor on_host(Compute* device, const Tensor& tensor, std::vector<std::byte>& memory) {
  if (is_host_accessible(device) || tensor.empty()) return tensor;
  memory.assign(static_cast<std::size_t>(tensor.bytes()), std::byte{});
  return {tensor.dtype, tensor.shape, memory.data()};
}

// Calls fill(tensor), which must write the full tensor. `fill` gets the tensor itself, or a tensor
// in host memory that is then copied to the device.
template <class Fill>
void fill(Compute* device, const Tensor& tensor, const Fill& fill_it) {
  if (is_host_accessible(device) || tensor.empty()) return fill_it(tensor);
  std::vector<std::byte> memory;
  const Tensor made = on_host(device, tensor, memory);
  fill_it(made);
  device->copy(tensor.data, made.data, tensor.bytes());
}

// Returns a tensor whose contents the host can read: the tensor itself, or a copy in `memory`.
inline Tensor seen(Compute* device, const Tensor& tensor, std::vector<std::byte>& memory) {
  const Tensor copy = on_host(device, tensor, memory);
  if (copy.data != tensor.data) device->copy(copy.data, tensor.data, tensor.bytes());
  return copy;
}

}  // namespace trainyard::compute
