// SPDX-License-Identifier: GPL-3.0-or-later
// Documents that programs write and read back, such as manifests and frames of recordings. Unlike
// an experiment, which a user writes, a stored document is not expected to lack values: a file that
// was damaged may lack any of them, and has values of any type.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "core/base/fields.h"

namespace trainyard::base {

// Maximum number of entries of a list, including the entries of lists in it, that `read_present`
// reads. It bounds the memory that a damaged file can take.
inline constexpr std::size_t kMaxStoredEntries = std::size_t{1} << 17;

namespace detail {

void report_missing(Problems& problems, const std::string& path, std::string accepted);
// Returns the number of entries of a list, including the entries of lists in it; 0 for a value that
// is not a list.
std::size_t count_entries(const Json& value);
void report_entries(Problems& problems, const std::string& path, std::size_t entries);

// Appends problems if the value is not in the range of its field.
template <class T>
void check_value(const T& value, const Range& range, const std::string& path, Problems& problems) {
  if constexpr (IsDocument<T> || IsNamed<T> || std::is_same_v<T, bool>) {
    return;
  } else if constexpr (IsVector<T>::value) {
    check_length(value.size(), range, "entries", path, problems);
  } else if constexpr (std::is_arithmetic_v<T>) {
    check_number(Json(value), std::is_integral_v<T>, narrowed<T>(range), path, problems);
  } else {
    check_length(characters(value), range, "characters", path, problems);
  }
}

template <IsDocument Document>
void report_missing_fields(const Json& json, const std::string& path, Problems& problems);

template <class Value>
void report_missing_fields_in(const Json& json, const std::string& path, Problems& problems) {
  if constexpr (IsDocument<Value>) {
    report_missing_fields<Value>(json, path, problems);
  } else if constexpr (IsVector<Value>::value) {
    if constexpr (IsDocument<typename Value::value_type>)
      for (std::size_t i = 0; json.is_array() && i < json.size(); ++i)
        report_missing_fields<typename Value::value_type>(
            json[i], path + "[" + std::to_string(i) + "]", problems);
  }
}

// Reports the fields that `json` lacks and whose defaults are out of range.
template <IsDocument Document>
void report_missing_fields(const Json& json, const std::string& path, Problems& problems) {
  if (!json.is_object()) return;
  const Document defaults{};
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& f) {
    const std::string place = child(path, f.name);
    if (const auto at = json.find(std::string(f.name)); at != json.end())
      return report_missing_fields_in<Value>(*at, place, problems);
    Problems out_of_range;
    check_value(defaults.*(f.member), f.range, place, out_of_range);
    if (!out_of_range.empty())
      report_missing(problems, place, std::move(out_of_range.front().accepted));
  });
}

template <IsDocument Document>
Json present_fields(const Json& json, const std::string& path, Problems& problems);

template <class Value>
Json present_value(const Json& json, const std::string& path, Problems& problems) {
  if constexpr (IsDocument<Value>) {
    return present_fields<Value>(json, path, problems);
  } else if constexpr (IsVector<Value>::value) {
    if constexpr (IsDocument<typename Value::value_type>) {
      if (!json.is_array()) return json;
      Json list = Json::array();
      for (const Json& entry : json)
        list.push_back(present_fields<typename Value::value_type>(entry, path, problems));
      return list;
    }
  }
  return json;
}

// Returns `json` without unknown keys, nulls, and lists with too many entries.
template <IsDocument Document>
Json present_fields(const Json& json, const std::string& path, Problems& problems) {
  if (!json.is_object()) return json;
  Json known = Json::object();
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& f) {
    const auto at = json.find(std::string(f.name));
    if (at == json.end() || at->is_null()) return;
    const std::string place = child(path, f.name);
    if (const std::size_t entries = count_entries(*at); entries > kMaxStoredEntries)
      return report_entries(problems, place, entries);
    known[std::string(f.name)] = present_value<Value>(*at, place, problems);
  });
  return known;
}

}  // namespace detail

// Reads a document that must be complete. Appends the problems of `read_document`, and a problem
// for every field that is absent although its default is out of range.
template <IsDocument Document>
void read_complete(const Json& json, Document& document, const std::string& path,
                   Problems& problems) {
  read_document(json, document, path, problems);
  detail::report_missing_fields<Document>(json, path, problems);
}

// Reads the fields that are present and valid. Fields that are absent, null or invalid keep the
// values of `document`. Appends a problem for every invalid field. Ignores unknown keys, which a
// newer version may write.
template <IsDocument Document>
void read_present(const Json& json, Document& document, const std::string& path,
                  Problems& problems) {
  read_document(detail::present_fields<Document>(json, path, problems), document, path, problems);
}

}  // namespace trainyard::base
