// SPDX-License-Identifier: GPL-3.0-or-later
// Functions derived from field tables (core/base/field_table.h): reading and writing a document as
// JSON, its JSON Schema, and descriptions for forms.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/field_description.h"
#include "core/base/field_kinds.h"
#include "core/base/field_table.h"
#include "core/base/json.h"
#include "core/base/names.h"

namespace trainyard::base {

// Problem id of a key that is not the name of a field.
inline constexpr const char* kUnknownKey = "unknown_key";

namespace detail {

void report(Problems& problems, const char* id, const std::string& path, std::string what,
            std::string accepted, std::string advice = "");
std::string found(const Json& value);  // "the text \"fast\"", "the number 3.5"
bool check_number(const Json& value, bool whole, const Range& range, const std::string& path,
                  Problems& problems);
bool check_length(std::size_t length, const Range& range, const char* unit, const std::string& path,
                  Problems& problems);
// Reports that a value is not an object. `accepted` are the keys that the message lists.
void report_no_object(const Json& value, const std::vector<std::string>& accepted,
                      const std::string& path, Problems& problems);
// Reports the keys that are not in `known`. `accepted` are the keys that the message lists.
void check_keys(const Json& object, const std::vector<std::string>& known,
                const std::vector<std::string>& accepted, const std::string& path,
                Problems& problems);
std::size_t characters(std::string_view utf8);

// Returns the part of `range` that the member's type can represent.
template <class Number>
Range narrowed(const Range& range) {
  using Limits = std::numeric_limits<Number>;
  return {std::max(range.low, static_cast<double>(Limits::lowest())),
          std::min(range.high, static_cast<double>(Limits::max())), range.unit};
}

inline std::string child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

}  // namespace detail

template <class T>
Json write_value(const T& value);
template <class T>
void read_value(const Json& json, T& value, const Range& range, const std::string& path,
                Problems& problems);

// Returns the document as JSON, with every field, in the order of the field table.
template <IsDocument Document>
Json write_document(const Document& document) {
  Json json = Json::object();
  for_each_field<Document>(
      [&](const auto& f) { json[std::string(f.name)] = write_value(document.*(f.member)); });
  return json;
}

// Returns the keys that messages list: the fields of the document's kind, and those in the optional
// member `shorthands` of Fields<Document>: keys of the file format that are expanded before a
// document is read.
template <IsDocument Document>
std::vector<std::string> accepted_keys(const Document& document) {
  std::vector<std::string> accepted;
  for_each_field<Document>([&](const auto& f) {
    if (!is_foreign(document, f)) accepted.emplace_back(f.name);
  });
  if constexpr (requires { Fields<Document>::shorthands; })
    accepted.insert(accepted.end(), std::begin(Fields<Document>::shorthands),
                    std::end(Fields<Document>::shorthands));
  return accepted;
}

// Reads the fields that are present into `document`. Appends a problem for every unknown key, wrong
// type and value out of range, and continues.
template <IsDocument Document>
void read_document(const Json& json, Document& document, const std::string& path,
                   Problems& problems) {
  if (!json.is_object())
    return detail::report_no_object(json, accepted_keys(document), path, problems);
  std::vector<std::string> known;
  for_each_field<Document>([&](const auto& f) {
    known.emplace_back(f.name);
    if (const auto at = json.find(std::string(f.name)); at != json.end())
      read_value(*at, document.*(f.member), f.range, detail::child(path, f.name), problems);
  });
  detail::check_keys(json, known, accepted_keys(document), path, problems);
}

template <class T>
Json write_value(const T& value) {
  if constexpr (IsDocument<T>) {
    return write_document(value);
  } else if constexpr (IsNamed<T>) {
    return std::string(name_of(value));
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (const auto& element : value) list.push_back(write_value(element));
    return list;
  } else {
    return value;
  }
}

template <class T>
void read_value(const Json& json, T& value, const Range& range, const std::string& path,
                Problems& problems) {
  if constexpr (IsDocument<T>) {
    read_document(json, value, path, problems);
  } else if constexpr (IsNamed<T>) {
    const auto names = all_names<T>();
    if (json.is_string())
      for (const auto& [candidate, word] : Names<T>::table)
        if (json.get_ref<const std::string&>() == word) return void(value = candidate);
    const std::string guess =
        json.is_string() ? nearest_name(json.get_ref<const std::string&>(), names) : "";
    detail::report(
        problems, "unknown_value", path, "unknown value: " + detail::found(json),
        joined_names(names),
        guess.empty() ? "Choose one of these values." : "Did you mean \"" + guess + "\"?");
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array())
      return detail::report(problems, "wrong_type", path,
                            "expected a list, found " + detail::found(json), "[...]",
                            "Write the entries in brackets, separated by commas.");
    if (!detail::check_length(json.size(), range, "entries", path, problems)) return;
    value.assign(json.size(), {});
    for (std::size_t i = 0; i < json.size(); ++i)
      read_value(json[i], value[i], {}, path + "[" + std::to_string(i) + "]", problems);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean())
      return detail::report(problems, "wrong_type", path,
                            "expected true or false, found " + detail::found(json), "true, false",
                            "Choose true or false.");
    value = json.get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (detail::check_number(json, std::is_integral_v<T>, detail::narrowed<T>(range), path,
                             problems))
      value = json.get<T>();
  } else {
    if (!json.is_string())
      return detail::report(problems, "wrong_type", path,
                            "expected a text, found " + detail::found(json), "\"...\"",
                            "Write the value in quotation marks.");
    if (detail::check_length(detail::characters(json.get_ref<const std::string&>()), range,
                             "characters", path, problems))
      value = json.get<std::string>();
  }
}

template <class T>
constexpr FieldKind kind_of() {
  if constexpr (IsDocument<T>) return FieldKind::document;
  else if constexpr (IsNamed<T>) return FieldKind::choice;
  else if constexpr (IsVector<T>::value) return FieldKind::list;
  else if constexpr (std::is_same_v<T, bool>) return FieldKind::boolean;
  else if constexpr (std::is_integral_v<T>) return FieldKind::integer;
  else if constexpr (std::is_floating_point_v<T>) return FieldKind::number;
  else return FieldKind::text;
}

// Returns descriptions of the document's fields, without their C++ types. `used` depends on the
// values of `document`.
template <IsDocument Document>
std::vector<FieldDescription> describe(const Document& document) {
  std::vector<FieldDescription> descriptions;
  const Document defaults{};
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& f) {
    FieldDescription d{std::string(f.name),
                       kind_of<Value>(),
                       std::string(f.unit),
                       f.range,
                       std::string(f.help),
                       SharedJson(write_value(defaults.*(f.member))),
                       {},
                       {}};
    d.kinds = kinds_with(document, f);
    if constexpr (IsNamed<Value>) d.choices = all_names<Value>();
    if constexpr (IsDocument<Value>) d.fields = describe(document.*(f.member));
    if constexpr (IsVector<Value>::value) {
      d.element = kind_of<typename Value::value_type>();
      if constexpr (IsDocument<typename Value::value_type>)
        d.fields = describe(typename Value::value_type{});
    }
    d.used = f.used == nullptr || f.used(document);
    if constexpr (requires { Fields<Document>::hides(document, f.name, f.name); })
      for (FieldDescription& inner : d.fields)
        inner.used = inner.used && !Fields<Document>::hides(document, f.name, inner.name);
    descriptions.push_back(std::move(d));
  });
  return descriptions;
}

// JSON Schema (draft 2020-12) of the described fields.
Json json_schema(const std::vector<FieldDescription>& fields, std::string_view title);

// Read or set the value at a path such as "topology.hosts[0].name". Reading a missing value is a
// Problem. Writing below a value that is neither an object nor a list is a Problem, too. Writing
// creates missing objects. A write that fails changes nothing.
Result<Json> value_at(const Json& document, const std::string& path);
Result<void> set_value_at(Json& document, const std::string& path, Json value);

}  // namespace trainyard::base
