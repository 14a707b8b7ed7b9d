// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/transport_frame.h"

#include <bit>
#include <cstring>

#include "core/base/hash.h"

namespace trainyard::zmq {
namespace {

constexpr std::uint32_t kMagic = 0x59445254;  // "TRDY" in ASCII
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kCheckedBytes = kFrameHeaderBytes - sizeof(std::uint32_t);
static_assert(std::endian::native == std::endian::little,
              "frames are copied byte by byte, so the host must be little-endian");

class Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}
  template <class T>
  Writer& operator<<(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
    return *this;
  }

 private:
  std::byte* at_;
};

class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}
  template <class T>
  Reader& operator>>(T& value) {
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return *this;
  }

 private:
  const std::byte* at_;
};

}  // namespace

std::array<std::byte, kFrameHeaderBytes> encode(const FrameHeader& header) {
  std::array<std::byte, kFrameHeaderBytes> frame{};
  Writer(frame.data()) << kMagic << kVersion << header.kind << header.run_key << header.generation
                       << header.from << header.to << header.channel << header.sequence
                       << header.step << header.op << header.payload_bytes;
  Writer(frame.data() + kCheckedBytes) << base::crc32c(std::span(frame).first(kCheckedBytes));
  return frame;
}

std::optional<FrameHeader> decode(std::span<const std::byte> frame) {
  if (frame.size() != kFrameHeaderBytes) return std::nullopt;
  FrameHeader header;
  std::uint32_t found_magic = 0, checksum = 0;
  std::uint16_t found_version = 0;
  Reader(frame.data()) >> found_magic >> found_version >> header.kind >> header.run_key >>
      header.generation >> header.from >> header.to >> header.channel >> header.sequence >>
      header.step >> header.op >> header.payload_bytes;
  Reader(frame.data() + kCheckedBytes) >> checksum;
  const bool known_kind = header.kind >= FrameKind::data && header.kind <= FrameKind::leave;
  if (found_magic != kMagic || found_version != kVersion || !known_kind) return std::nullopt;
  if (checksum != base::crc32c(frame.first(kCheckedBytes))) return std::nullopt;
  return header;
}

}  // namespace trainyard::zmq
