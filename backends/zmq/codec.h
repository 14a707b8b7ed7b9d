// SPDX-License-Identifier: GPL-3.0-or-later
// Encoding of control messages: one frame with a 36-byte header and a body.
//
//   offset  bytes
//        0  4      magic "TYCM"
//        4  2      version of header and bodies
//        6  2      type: index of the message in session::Message, from 1
//        8  8      run: xxh64 of its name; 0 from a client that does not know it yet
//       16  4      generation
//       20  4      length of the body
//       24  8      sequence: increases with every frame of a sender
//       32  4      CRC-32C of the first 32 bytes and the body
//       36  ...    body
//
// All numbers are little-endian. codec_messages.h defines the bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/session/protocol/messages.h"

namespace trainyard::zmq {

constexpr std::uint16_t kControlVersion = 10;
constexpr std::size_t kControlHeaderBytes = 36;
// Maximum size of a complete frame; of those that a server accepts from ranks and from viewers.
constexpr std::size_t kMaxControlBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxRankBytes = std::size_t{2} << 20;
constexpr std::size_t kMaxViewerBytes = std::size_t{64} << 10;

struct ControlHeader {
  std::uint64_t run = 0;
  std::uint32_t generation = 0;
  std::uint64_t sequence = 0;
  bool operator==(const ControlHeader&) const = default;
};

struct ControlFrame {
  ControlHeader header;
  session::Message message;
};

// Encodes a message. Returns Problem bad_input if it is longer than `max_bytes`.
base::Result<std::string> encode_message(const ControlHeader& header,
                                         const session::Message& message,
                                         std::size_t max_bytes = kMaxControlBytes);

// Decodes a frame. Returns Problem bad_input for anything that `encode_message` does not produce.
// Allocates memory in proportion to the frame's actual size, even if the counts in the frame claim
// more.
base::Result<ControlFrame> decode_message(std::span<const std::byte> frame,
                                          std::size_t max_bytes = kMaxControlBytes);

// True if the header says that the frame is a heartbeat (Progress). The frame is not checked.
bool is_progress(std::string_view frame);
// Likewise for telemetry events (Events).
bool is_events(std::string_view frame);

}  // namespace trainyard::zmq
