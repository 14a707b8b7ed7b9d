// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/sparse_document.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard::base {
namespace {

bool is_flat(const Json& json) {
  return std::none_of(json.begin(), json.end(),
                      [](const Json& element) { return element.is_structured(); });
}

// Returns a value without nested lists or objects on one line, with a space after each comma and
// colon.
std::string one_line(const Json& json) {
  if (!json.is_structured()) return to_text(json);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += to_text(Json(key)) + ": ";
    text += to_text(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

void append(const Json& json, std::size_t indent, std::size_t column, std::size_t columns,
            std::string& text) {
  if (!json.is_structured() || is_flat(json)) {
    const std::string line = one_line(json);
    // The line must leave the last column free, because a comma may follow.
    if (!json.is_structured() || json.empty() || column + line.size() < columns) {
      text += line;
      return;
    }
  }
  const std::string margin(indent + 2, ' ');
  text += json.is_object() ? "{\n" : "[\n";
  std::size_t left = json.size();
  for (const auto& [key, value] : json.items()) {
    const std::string name = json.is_object() ? to_text(Json(key)) + ": " : "";
    text += margin + name;
    append(value, indent + 2, margin.size() + name.size(), columns, text);
    text += --left > 0 ? ",\n" : "\n";
  }
  text += std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

}  // namespace

Problem foreign_key_problem(const ForeignKey& key) {
  const std::string name = key.path.substr(key.path.rfind('.') + 1);
  return {"foreign_key",
          ProblemCode::bad_input,
          key.path,
          fmt::format("the kind \"{}\" has no key \"{}\"", key.kind, name),
          fmt::format("kinds with this key: {}", joined_names(key.kinds)),
          "Remove the key, or change the kind."};
}

std::string to_readable_text(const Json& json, std::size_t columns) {
  std::string text;
  append(json, 0, 0, columns, text);
  return text + "\n";
}

namespace detail {

void erase_key(Json& object, std::string_view key) { object.erase(std::string(key)); }

}  // namespace detail
}  // namespace trainyard::base
