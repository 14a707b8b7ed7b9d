// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/printable.h"

#include <fmt/core.h>
#include <utf8.h>

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

std::string printable_line(std::string_view text) {
  std::string line = printable(text);
  for (std::size_t at = 0; (at = line.find_first_of("\n\t", at)) != std::string::npos;)
    line.replace(at, 1, line[at] == '\n' ? "\\n" : " ");
  return line;
}

std::string shown(std::string_view text) {
  constexpr int kMostCharacters = 40;
  std::string quoted = "\"";
  int characters = 0;
  auto at = text.begin();
  for (; at != text.end() && characters < kMostCharacters; ++characters) {
    auto next = at;
    const bool valid = utf8::internal::validate_next(next, text.end()) == utf8::internal::UTF8_OK;
    const char32_t c = valid ? utf8::unchecked::peek_next(at) : 0;
    if (valid && !is_control(c)) {
      quoted.append(at, next);
      at = next;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(*at++)));
    }
  }
  return quoted + (at != text.end() ? "...\"" : "\"");
}

}  // namespace trainyard::base
