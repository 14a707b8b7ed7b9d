// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::base {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

inline std::string to_hex(std::span<const char> bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += kHexDigits[static_cast<unsigned char>(byte) >> 4];
    text += kHexDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// Returns nothing if the length is odd or a character is not a lower-case hexadecimal digit.
inline std::optional<std::string> from_hex(std::string_view text) {
  std::string bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kHexDigits.find(text[i]), low = kHexDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

}  // namespace trainyard::base
