// SPDX-License-Identifier: GPL-3.0-or-later
// Shortens text from a document for a message.
#pragma once

#include <string>

namespace trainyard::base {

inline bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}  // true for a byte that continues a UTF-8 character

// Returns at most 60 bytes. Longer text is cut after a full UTF-8 character and ends in "...".
inline std::string shortened(const std::string& text) {
  if (text.size() <= 60) return text;
  std::size_t end = 57;
  while (end > 0 && continues_character(text[end])) --end;
  return text.substr(0, end) + "...";
}

}  // namespace trainyard::base
