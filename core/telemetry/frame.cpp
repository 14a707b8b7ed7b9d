// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/frame.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstring>

#include "core/base/hash.h"

namespace trainyard::telemetry {
namespace {

std::uint32_t checksum(const FrameHeader& header) {
  return base::crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(FrameHeader, crc)));
}

base::Problem damaged(const char* id, std::string what) {
  return {id, base::ProblemCode::bad_input, "", std::move(what), "", ""};
}

}  // namespace

FrameHeader make_frame_header(std::uint32_t type, std::int32_t rank, std::size_t length) {
  FrameHeader header{kFrameMagic, type, rank, static_cast<std::uint32_t>(length), 0};
  header.crc = checksum(header);
  return header;
}

base::Result<FrameHeader> parse_frame_header(std::span<const std::byte> bytes) {
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kFrameMagic)
    return base::fail(damaged("no_frame", "there is no frame at this position"));
  if (header.crc != checksum(header))
    return base::fail(damaged("bad_frame_header",
                              "the header of the frame is damaged: its checksum does not match"));
  if (header.length > kMaxPayload) {
    auto problem =
        damaged("frame_too_long",
                fmt::format("the header of the frame states a length of {} bytes", header.length));
    problem.accepted = fmt::format("at most {} bytes", kMaxPayload);
    return base::fail(std::move(problem));
  }
  return header;
}

base::Result<std::span<const std::byte>> payload_of(std::span<const std::byte> frame) {
  const auto payload = frame.subspan(kFrameHeaderBytes, frame.size() - kFrameOverhead);
  std::uint32_t crc = 0;
  std::memcpy(&crc, frame.last(sizeof crc).data(), sizeof crc);
  if (crc != base::crc32c(payload))
    return base::fail(damaged("bad_frame_content",
                              "the content of the frame is damaged: its checksum does not match"));
  return payload;
}

}  // namespace trainyard::telemetry
