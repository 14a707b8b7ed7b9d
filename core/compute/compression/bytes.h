// SPDX-License-Identifier: GPL-3.0-or-later
// Unaligned access to numbers. Received data, and a rank's part of gathered data, may begin at any
// address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace trainyard::compute::compression {

template <class T>
T load(const std::byte* from, std::int64_t element) {
  T value;
  std::memcpy(&value, from + element * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* to, std::int64_t element, T value) {
  std::memcpy(to + element * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace trainyard::compute::compression
