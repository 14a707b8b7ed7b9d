// SPDX-License-Identifier: GPL-3.0-or-later
// Header frame of the data plane: 64 bytes, little-endian. The last 4 are the CRC-32C of the first
// 60.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace trainyard::zmq {

enum class FrameKind : std::uint16_t { data = 1, consumed = 2, abort = 3, leave = 4 };

constexpr bool has_payload(FrameKind kind) {
  return kind == FrameKind::data || kind == FrameKind::abort;
}

struct FrameHeader {
  FrameKind kind = FrameKind::data;
  std::uint64_t run_key = 0;
  std::uint32_t generation = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t channel = 0;
  // In a data frame: index of the message in its lane, from 0. In an acknowledgment (kind
  // `consumed`): number of consumed messages.
  std::uint64_t sequence = 0;
  std::uint32_t step = 0;
  std::uint32_t op = 0;
  std::uint64_t payload_bytes = 0;
  bool operator==(const FrameHeader&) const = default;
};

constexpr std::size_t kFrameHeaderBytes = 64;

std::array<std::byte, kFrameHeaderBytes> encode(const FrameHeader& header);
// Decodes a header. Returns nullopt if length, magic, version, kind or checksum is wrong.
std::optional<FrameHeader> decode(std::span<const std::byte> frame);

}  // namespace trainyard::zmq
