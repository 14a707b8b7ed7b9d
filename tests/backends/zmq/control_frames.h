// SPDX-License-Identifier: GPL-3.0-or-later
// Frames made by hand, as a stranger could make them.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "backends/zmq/codec.h"
#include "core/base/hash.h"

namespace trainyard::zmq {

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Length and checksum as they must be for the frame to be looked at further.
inline void seal(std::string& frame) {
  const auto length = static_cast<std::uint32_t>(frame.size() - kControlHeaderBytes);
  std::memcpy(frame.data() + 20, &length, sizeof length);
  const std::uint32_t checksum = base::crc32c(bytes_of(frame).subspan(kControlHeaderBytes),
                                              base::crc32c(bytes_of(frame).first(32)));
  std::memcpy(frame.data() + 32, &checksum, sizeof checksum);
}

// A frame with a good header around any body; `type` counts from 1.
inline std::string frame_around(std::uint16_t type, const std::string& body,
                                const ControlHeader& header = {}) {
  std::string frame = "TYCM" + raw(kControlVersion) + raw(type) + raw(header.run) +
                      raw(header.generation) + raw(std::uint32_t{0}) + raw(header.sequence) +
                      raw(std::uint32_t{0}) + body;
  seal(frame);
  return frame;
}

template <class Body>
constexpr std::uint16_t type_of() {
  return static_cast<std::uint16_t>(session::Message(Body{}).index() + 1);
}

// Damages a frame in one of many ways; half of the results have a good checksum again.
inline std::string mutated(std::string frame, std::mt19937_64& random) {
  const auto below = [&random](std::size_t most) {
    return static_cast<std::size_t>(random() % most);
  };
  for (std::size_t i = 0, count = 1 + below(4); i < count && !frame.empty(); ++i) {
    char& at = frame[below(frame.size())];
    switch (below(5)) {
      case 0: at = static_cast<char>(at ^ (1 << below(8))); break;
      case 1: at = static_cast<char>(random()); break;
      case 2: at = static_cast<char>(0xff); break;
      case 3: frame.resize(below(frame.size() + 1)); break;
      default: frame.insert(below(frame.size() + 1), 1 + below(20), static_cast<char>(random()));
    }
  }
  if (frame.size() >= kControlHeaderBytes && below(2) == 0) seal(frame);
  return frame;
}

inline std::string random_bytes(std::size_t most, std::mt19937_64& random) {
  std::string bytes(static_cast<std::size_t>(random() % (most + 1)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace trainyard::zmq
