// SPDX-License-Identifier: GPL-3.0-or-later
// Names of enum values, as documents, command lines and plans spell them.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainyard::base {

// Names of an enum's values, in order of declaration. Specialize it with `static constexpr
// std::pair<Enum, std::string_view> table[]`.
template <class Enum>
struct Names;

template <class T>
concept IsNamed = std::is_enum_v<T> && requires {
  Names<T>::table;
};
template <IsNamed Enum>
std::string_view name_of(Enum value) {
  for (const auto& [candidate, word] : Names<Enum>::table)
    if (candidate == value) return word;
  return "?";
}

template <IsNamed Enum>
std::vector<std::string> all_names() {
  std::vector<std::string> words;
  for (const auto& entry : Names<Enum>::table) words.emplace_back(entry.second);
  return words;
}

// Returns the names separated by commas.
std::string joined_names(const std::vector<std::string>& names);

// Returns the candidate most similar to a misspelled word; "" if none is similar.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace trainyard::base
