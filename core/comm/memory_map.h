// SPDX-License-Identifier: GPL-3.0-or-later
// Mapped memory, zeroed and reserved lazily. It is either private to the process, or the memory of
// an open file that processes share.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "core/base/result.h"

namespace trainyard::comm {

class MemoryMap {
 public:
  MemoryMap() = default;
  MemoryMap(MemoryMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MemoryMap& operator=(MemoryMap&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryMap();

  static base::Result<MemoryMap> anonymous(std::size_t bytes);
  static base::Result<MemoryMap> of_file(int fd, std::size_t bytes);

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit MemoryMap(std::span<std::byte> bytes) : bytes_(bytes) {}
  static base::Result<MemoryMap> map(int fd, std::size_t bytes, int flags);

  std::span<std::byte> bytes_;
};

}  // namespace trainyard::comm
