// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/printable.h"

#include <utf8.h>

#include <cstdio>
#include <iterator>

namespace trainyard::base {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool has_control_characters(std::string_view text) {
  if (!utf8::is_valid(text.begin(), text.end())) return false;
  for (auto at = text.begin(); at != text.end();)
    if (is_control(utf8::unchecked::next(at))) return true;
  return false;
}

std::string printable(std::string_view text) {
  constexpr char32_t kReplacement = 0xFFFD;
  const std::string valid = utf8::replace_invalid(text, kReplacement);
  std::string clean;
  for (auto at = valid.begin(); at != valid.end();) {
    const char32_t c = utf8::unchecked::next(at);
    const bool kept = !is_control(c) || c == '\n' || c == '\t';
    utf8::unchecked::append(kept ? c : kReplacement, std::back_inserter(clean));
  }
  return clean;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      quoted += escaped;
    }
  }
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace trainyard::base
