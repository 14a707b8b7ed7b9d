// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between a machine that joins and the listener that invited it.
//
//   machine                      listener
//   join             -->                       over a connection with the key of an invitation
//                    <--         joined        or refused
//   (new connection, with the key that the machine made)
//   ping             -->                       each second
//                    <--         ping
//                    <--         open          a coordinator needs the agent: a session begins
//   data, credit, close in both directions     bytes of the agent's FrameStream
//
// Sent as frames of at most kMaxJoinFrameBytes:
//
//   offset  bytes
//        0  1      kind
//        1  4      session
//        5  8      data: offset of its first byte in the session's direction
//       13  ...    JSON, or the bytes of the session; credit: number of bytes that were taken
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/session/hosts/refusal.h"

namespace trainyard::session {

inline constexpr std::int32_t kJoinProtocol = 1;
inline constexpr std::size_t kMaxJoinFrameBytes = std::size_t{64} << 10;

// Offer to which the person at the machine agreed.
struct JoinRequest {
  std::int32_t protocol = kJoinProtocol;
  std::string software{};      // version of the agent
  std::string name{};          // of the machine
  std::string architecture{};  // as `uname -m`
  std::int64_t cores = 1, memory_bytes = 0;
  double seconds = 0;        // duration of the consent
  std::string public_key{};  // of the machine's further connections, Z85
};

struct JoinAccepted {
  std::string name{};      // of the machine; differs from the requested one if that was taken
  std::string listener{};  // name of the listener's machine
};

using JoinMessage = std::variant<JoinRequest, JoinAccepted, Refusal>;

std::string to_text(const JoinMessage& message);
base::Result<JoinMessage> join_message_from(const std::string& text, const std::string& peer);

enum class JoinFrameKind : std::uint8_t { message = 1, ping, open, data, credit, close };

struct JoinFrame {
  JoinFrameKind kind = JoinFrameKind::ping;
  std::uint32_t session = 0;
  std::uint64_t offset = 0;
  std::string bytes{};
};

std::string to_bytes(const JoinFrame& frame);
// Problem: bad_message.
base::Result<JoinFrame> join_frame_from(std::string_view bytes, const std::string& peer);

}  // namespace trainyard::session
