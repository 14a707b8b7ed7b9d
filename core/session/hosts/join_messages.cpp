// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/join_messages.h"

#include "core/session/hosts/message_text.h"

namespace trainyard::base {

namespace {

using session::JoinAccepted;
using session::JoinRequest;

constexpr Range kJoinText{0, 1000};

}  // namespace

template <>
struct Fields<JoinRequest> {
  using J = JoinRequest;
  static constexpr std::string_view title = "join";
  static auto table() {
    return std::tuple{
        field("protocol", &J::protocol, "", {1, 1e6}, "Version of these messages"),
        field("software", &J::software, "", kJoinText, "Version of the agent"),
        field("name", &J::name, "", {1, 64}, "Name of the machine"),
        field("architecture", &J::architecture, "", kJoinText, "Architecture"),
        field("cores", &J::cores, "cores", {1, 1e6}, "Cores that ranks may use"),
        field("memory_bytes", &J::memory_bytes, "bytes", {0, 9e18}, "Memory that ranks may use"),
        field("seconds", &J::seconds, "s", {0, 1e9}, "Duration of the consent"),
        field("public_key", &J::public_key, "", {40, 40}, "Key of further connections")};
  }
};

template <>
struct Fields<JoinAccepted> {
  static constexpr std::string_view title = "joined";
  static auto table() {
    return std::tuple{
        field("name", &JoinAccepted::name, "", {1, 64}, "Name of the machine"),
        field("listener", &JoinAccepted::listener, "", kJoinText, "Machine of the listener")};
  }
};

}  // namespace trainyard::base

namespace trainyard::session {
namespace {

constexpr std::size_t kFrameHeaderBytes = 13;

void append_little_endian(std::string& bytes, std::uint64_t number, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(number >> 8 * i & 255);
}

std::uint64_t little_endian_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = count; i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace

std::string to_text(const JoinMessage& message) { return text_of_message(message); }

base::Result<JoinMessage> join_message_from(const std::string& text, const std::string& peer) {
  return message_from_text<JoinMessage>(text, peer);
}

std::string to_bytes(const JoinFrame& frame) {
  std::string bytes(1, static_cast<char>(frame.kind));
  append_little_endian(bytes, frame.session, 4);
  append_little_endian(bytes, frame.offset, 8);
  return bytes + frame.bytes;
}

base::Result<JoinFrame> join_frame_from(std::string_view bytes, const std::string& peer) {
  const auto kind = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front());
  if (bytes.size() < kFrameHeaderBytes || bytes.size() > kMaxJoinFrameBytes || kind == 0 ||
      kind > static_cast<unsigned char>(JoinFrameKind::close))
    return base::fail({"bad_message", base::ProblemCode::bad_input, peer,
                       "a frame of the host is wrong", "", ""});
  return JoinFrame{static_cast<JoinFrameKind>(kind),
                   static_cast<std::uint32_t>(little_endian_at(bytes, 1, 4)),
                   little_endian_at(bytes, 5, 8), std::string(bytes.substr(kFrameHeaderBytes))};
}

}  // namespace trainyard::session
