// SPDX-License-Identifier: GPL-3.0-or-later
// The bytes of a recording: a frame is {magic, type, rank, length, crc32c of these four} + payload
// + crc32c of the payload, all little-endian 32-bit words. The length has a checksum of its own, so
// that a flipped bit in it is damage and not a frame that seems unfinished.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"

namespace trainyard::telemetry {

static_assert(std::endian::native == std::endian::little,
              "recordings are written as they lie in memory");

inline constexpr std::uint32_t kFrameMagic = 0x44525954;   // "TYRD"
inline constexpr std::size_t kMaximumPayload = 64u << 20;  // bytes
inline constexpr std::size_t kFrameHeaderBytes = 20;
inline constexpr std::size_t kFrameOverhead = kFrameHeaderBytes + 4;  // header and payload checksum

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint32_t type = 0;
  std::int32_t rank = -1;
  std::uint32_t length = 0;  // of the payload
  std::uint32_t crc = 0;     // of the four words above
};
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

// What the index says of a frame.
struct IndexEntry {
  std::uint64_t offset = 0;  // of the frame, from the start of the file
  std::uint32_t type = 0;
  std::int32_t rank = -1;
};
static_assert(sizeof(IndexEntry) == 16);

FrameHeader make_frame_header(std::uint32_t type, std::int32_t rank, std::size_t length);

// `bytes` holds at least a header. Problems: not a frame, damaged, too long. The caller adds the
// file.
base::Result<FrameHeader> parse_frame_header(std::span<const std::byte> bytes);

// `frame` is a whole frame. Its payload; a Problem when the checksum tells of damage.
base::Result<std::span<const std::byte>> payload_of(std::span<const std::byte> frame);

}  // namespace trainyard::telemetry
