// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/codec.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "backends/zmq/codec_messages.h"
#include "core/base/hash.h"

namespace trainyard::zmq {
namespace {

constexpr std::array<char, 4> magic{'T', 'Y', 'C', 'M'};
constexpr std::size_t kVersionAt = 4, kTypeAt = 6, kRunAt = 8, kGenerationAt = 16, kLengthAt = 20,
                      kSequenceAt = 24, kChecksumAt = 32;
constexpr std::size_t kTypes = std::variant_size_v<session::Message>;

base::Problem bad_frame(const char* id, const std::string& what) {
  return {
      id, base::ProblemCode::bad_input, "control message", fmt::format("the message {}", what), "",
      ""};
}

base::Problem bad_body(const cereal::Exception& error) {
  const auto* bad = dynamic_cast<const BadMessage*>(&error);
  return bad_frame(bad == nullptr ? "bad_control_message" : bad->id, error.what());
}

template <class T>
void put(std::string& frame, std::size_t at, T value) {
  std::memcpy(frame.data() + at, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> frame, std::size_t at) {
  T value;
  std::memcpy(&value, frame.data() + at, sizeof value);
  return value;
}

std::uint32_t checksum(std::span<const std::byte> frame) {
  return base::crc32c(frame.subspan(kControlHeaderBytes), base::crc32c(frame.first(kChecksumAt)));
}

void fill_header(std::string& frame, const ControlHeader& header, std::size_t type) {
  std::memcpy(frame.data(), magic.data(), magic.size());
  put(frame, kVersionAt, kControlVersion);
  put(frame, kTypeAt, static_cast<std::uint16_t>(type));
  put(frame, kRunAt, header.run);
  put(frame, kGenerationAt, header.generation);
  put(frame, kLengthAt, static_cast<std::uint32_t>(frame.size() - kControlHeaderBytes));
  put(frame, kSequenceAt, header.sequence);
  put(frame, kChecksumAt, checksum(std::as_bytes(std::span(frame))));
}

base::Result<void> check_header(std::span<const std::byte> frame, std::size_t max_bytes) {
  const auto refuse = [](const char* id, const std::string& what) {
    return base::fail(bad_frame(id, what));
  };
  if (frame.size() > max_bytes)
    return refuse("message_too_long", fmt::format("has {} bytes, but at most {} are accepted",
                                                  frame.size(), max_bytes));
  if (frame.size() < kControlHeaderBytes)
    return refuse("message_truncated", "is shorter than its header");
  if (std::memcmp(frame.data(), magic.data(), magic.size()) != 0)
    return refuse("bad_magic", "does not begin with the magic number");
  if (const auto version = get<std::uint16_t>(frame, kVersionAt); version != kControlVersion)
    return refuse("unknown_version", fmt::format("has version {}, but only version {} is accepted",
                                                 version, kControlVersion));
  if (get<std::uint32_t>(frame, kLengthAt) != frame.size() - kControlHeaderBytes)
    return refuse("wrong_length", "has a different length than its header states");
  if (get<std::uint32_t>(frame, kChecksumAt) != checksum(frame))
    return refuse("wrong_checksum", "is damaged: its checksum does not match");
  return {};
}

template <std::size_t type>
session::Message read_body(BodyReader& reader) {
  session::Message message(std::in_place_index<type>);
  reader(std::get<type>(message));
  return message;
}

template <std::size_t... type>
constexpr auto make_readers(std::index_sequence<type...>) {
  return std::array{&read_body<type>...};
}

// Reads a message body. May throw cereal::Exception.
session::Message read_message(std::size_t type, std::span<const std::byte> body) {
  constexpr auto readers = make_readers(std::make_index_sequence<kTypes>());
  if (type < 1 || type > kTypes)
    throw BadMessage("unknown_type", fmt::format("has the unknown type {}", type));
  BodyReader reader(body);
  session::Message message = readers[type - 1](reader);
  if (reader.left() > 0)
    throw BadMessage("trailing_bytes", fmt::format("has {} bytes after its end", reader.left()));
  return message;
}

}  // namespace

base::Result<std::string> encode_message(const ControlHeader& header,
                                         const session::Message& message, std::size_t max_bytes) {
  std::string frame(kControlHeaderBytes, '\0');
  try {
    BodyWriter writer(frame);
    std::visit([&writer](const auto& body) { writer(body); }, message);
  } catch (const cereal::Exception& error) {
    return base::fail(bad_body(error));
  }
  if (frame.size() > max_bytes)
    return base::fail(bad_frame(
        "message_too_long",
        fmt::format("has {} bytes, but at most {} are accepted", frame.size(), max_bytes)));
  fill_header(frame, header, message.index() + 1);
  return frame;
}

base::Result<ControlFrame> decode_message(std::span<const std::byte> frame, std::size_t max_bytes) {
  if (const auto ok = check_header(frame, max_bytes); !ok) return base::fail(ok.error());
  const ControlHeader header{get<std::uint64_t>(frame, kRunAt),
                             get<std::uint32_t>(frame, kGenerationAt),
                             get<std::uint64_t>(frame, kSequenceAt)};
  try {
    return ControlFrame{header, read_message(get<std::uint16_t>(frame, kTypeAt),
                                             frame.subspan(kControlHeaderBytes))};
  } catch (const cereal::Exception& error) {
    return base::fail(bad_body(error));
  }
}

namespace {

template <class One>
bool has_type(std::string_view frame) {
  static const std::size_t type = session::Message(One{}).index() + 1;
  return frame.size() >= kControlHeaderBytes &&
         get<std::uint16_t>(std::as_bytes(std::span(frame)), kTypeAt) == type;
}

}  // namespace

bool is_progress(std::string_view frame) { return has_type<session::Progress>(frame); }
bool is_events(std::string_view frame) { return has_type<session::Events>(frame); }

}  // namespace trainyard::zmq
