// SPDX-License-Identifier: GPL-3.0-or-later
// Frame format of recordings. A frame is {magic, type, rank, length, crc32c of these four}, the
// payload, and the crc32c of the payload. All words are 32 bits, little-endian. The header has its
// own checksum, so that a flipped bit in the length is detected as damage, instead of looking like
// an unfinished frame.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/result.h"

namespace trainyard::telemetry {

static_assert(std::endian::native == std::endian::little,
              "recordings are little-endian, and numbers are written without conversion");

inline constexpr std::uint32_t kFrameMagic = 0x44525954;  // "TYRD" in ASCII.
inline constexpr std::size_t kMaxPayload = 64u << 20;     // Maximum number of bytes.
inline constexpr std::size_t kFrameHeaderBytes = 20;
// Number of bytes that a frame needs in addition to its payload: the header, and the checksum of
// the payload.
inline constexpr std::size_t kFrameOverhead = kFrameHeaderBytes + 4;

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint32_t type = 0;
  std::int32_t rank = -1;
  std::uint32_t length = 0;  // Length of the payload.
  std::uint32_t crc = 0;     // Checksum of the four words above.
};
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);

// Entry of the index for one frame.
struct IndexEntry {
  std::uint64_t offset = 0;  // Offset of the frame from the start of the file.
  std::uint32_t type = 0;
  std::int32_t rank = -1;
};
static_assert(sizeof(IndexEntry) == 16);

FrameHeader make_frame_header(std::uint32_t type, std::int32_t rank, std::size_t length);

// Parses a header; `bytes` must have the size of a header or more. Returns a Problem if `bytes` do
// not begin with a frame header, or if the frame is damaged or too long. The caller adds the file
// name.
base::Result<FrameHeader> parse_frame_header(std::span<const std::byte> bytes);

// Copies the bytes into values of type T. Ignores an incomplete value at the end. `bytes` may be
// unaligned.
template <class T>
std::vector<T> copy_as(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Returns the payload of a complete frame, or a Problem if its checksum does not match.
base::Result<std::span<const std::byte>> payload_of(std::span<const std::byte> frame);

}  // namespace trainyard::telemetry
