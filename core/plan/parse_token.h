// SPDX-License-Identifier: GPL-3.0-or-later
// Parses the words of a plan's text: numbers, kinds, reserved words, tokens.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "core/plan/text.h"

namespace trainyard::plan {

inline constexpr std::int64_t kMaxNumber = std::int64_t{1} << 53;
inline constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();
inline constexpr std::array<std::string_view, 5> kReserved{"group", "reads", "writes", "flops",
                                                           "after"};
// maximum number of characters of a wrong word that an error message quotes
inline constexpr std::size_t kMaxQuoted = 40;

// Parses a number from 0 to `most` that consists of decimal digits.
std::optional<std::int64_t> number_of(std::string_view text, std::int64_t most);

template <class Kind>
std::optional<Kind> kind_of(std::string_view text, Kind last) {
  for (int k = 0; k <= static_cast<int>(last); ++k)
    if (word(static_cast<Kind>(k)) == text) return static_cast<Kind>(k);
  return std::nullopt;
}

struct TokenOutcome {
  std::optional<Op> op;
  std::size_t at = 0;  // column of the error, in characters
  std::string_view what;
};

TokenOutcome read_token(std::string_view text);

}  // namespace trainyard::plan
