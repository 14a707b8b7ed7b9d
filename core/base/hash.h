// SPDX-License-Identifier: GPL-3.0-or-later
// Two hashes: xxHash64 to compare contents, CRC-32C (Castagnoli, RFC 3720 B.4) to detect corruption
// in frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::base {

std::uint64_t xxh64(std::span<const std::byte> data);
std::uint64_t xxh64(std::string_view text);
std::string hex(std::uint64_t value);  // 16 lower-case digits

// `previous` continues a checksum over pieces: crc32c(b, crc32c(a)) == crc32c(a + b).
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t previous = 0);

}  // namespace trainyard::base
