// SPDX-License-Identifier: GPL-3.0-or-later
// Hashes: xxHash64 to compare contents, XXH3 with 128 bits to identify files by content, CRC-32C
// (Castagnoli, RFC 3720 B.4) to detect corruption in frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::base {

std::uint64_t xxh64(std::span<const std::byte> data);
std::uint64_t xxh64(std::string_view text);
std::string hex(std::uint64_t value);  // 16 lower-case digits

// XXH3 with 128 bits, over pieces.
class ContentHasher {
 public:
  ContentHasher();
  void add(std::string_view bytes);
  std::string hash() const;  // of all pieces, 32 lower-case digits

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;
};

// `previous` continues a checksum over pieces: crc32c(b, crc32c(a)) == crc32c(a + b).
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t previous = 0);

}  // namespace trainyard::base
