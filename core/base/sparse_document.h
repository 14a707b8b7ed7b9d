// SPDX-License-Identifier: GPL-3.0-or-later
// Documents with only the chosen values: those that differ from their defaults, and only keys of
// the chosen kinds (core/base/field_kinds.h).
#pragma once

#include <string>
#include <vector>

#include "core/base/field_kinds.h"
#include "core/base/fields.h"

namespace trainyard::base {

struct ForeignKey {
  std::string path;                // "model.layers[1].heads"
  std::string kind;                // Kind of the document that contains the foreign key: "relu".
  std::vector<std::string> kinds;  // Kinds that have the foreign key: "attention", "transformer".
  bool is_default = false;         // True if the key's value is the default.
};

// Returns the problem of a document that contains a key of another kind.
Problem foreign_key_problem(const ForeignKey& key);

// Writes JSON on several lines. A list or object that contains no other list or object is on one
// line if that fits in `columns`.
std::string to_readable_text(const Json& json, std::size_t columns = 100);

namespace detail {

void erase_key(Json& object, std::string_view key);

}  // namespace detail

// Returns the values that differ from their defaults, without keys that the object's kind does not
// have. An object with a kind states its kind, unless all its values are defaults. Elements of
// lists always state their kind.
template <IsDocument Document>
Json write_chosen(const Document& document) {
  Json json = Json::object();
  const Document defaults{};
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& field) {
    const Value& value = document.*(field.member);
    const bool is_kind = HasKind<Document> && field.name == "kind";
    if (is_foreign(document, field) || (!is_kind && value == defaults.*(field.member))) return;
    Json& written = json[std::string(field.name)];
    if constexpr (IsDocument<Value>) written = write_chosen(value);
    else written = write_value(value);
    if constexpr (IsVector<Value>::value)
      if constexpr (IsDocument<typename Value::value_type>)
        for (std::size_t i = 0; i < value.size(); ++i) written[i] = write_chosen(value[i]);
  });
  return json;
}

// Sets all foreign keys of the document (field_kinds.h) to their defaults. Appends the paths of
// those that had other values.
template <IsDocument Document>
void reset_foreign_keys(Document& document, const std::string& path,
                        std::vector<std::string>& changed) {
  const Document given = document, defaults{};
  for_each_field<Document>([&](const auto& field) {
    auto& value = document.*(field.member);
    const std::string place = detail::child(path, field.name);
    if (!is_foreign(given, field))
      return for_each_document(value, place, [&](auto& part, const std::string& at) {
        reset_foreign_keys(part, at, changed);
      });
    if (value != defaults.*(field.member)) changed.push_back(place);
    value = defaults.*(field.member);
  });
}

// Removes the foreign keys from `json` and appends them to `removed`. `document` was read from
// `json`; `path` is its path.
template <IsDocument Document>
void remove_foreign_keys(Json& json, const Document& document, const std::string& path,
                         std::vector<ForeignKey>& removed) {
  if (!json.is_object()) return;
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& field) {
    const auto key = json.find(std::string(field.name));
    if (key == json.end()) return;
    const Value& value = document.*(field.member);
    const std::string place = detail::child(path, field.name);
    if constexpr (HasKind<Document>) {
      if (is_foreign(document, field)) {
        removed.push_back({place, std::string(name_of(document.kind)), kinds_with(document, field),
                           value == Document{}.*(field.member)});
        return detail::erase_key(json, field.name);
      }
    }
    if constexpr (IsDocument<Value>) {
      remove_foreign_keys(*key, value, place, removed);
    } else if constexpr (IsVector<Value>::value) {
      if constexpr (IsDocument<typename Value::value_type>)
        if (key->is_array() && key->size() == value.size())
          for (std::size_t i = 0; i < value.size(); ++i)
            remove_foreign_keys((*key)[i], value[i], place + "[" + std::to_string(i) + "]",
                                removed);
    }
  });
}

}  // namespace trainyard::base
