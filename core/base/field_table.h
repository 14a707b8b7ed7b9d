// SPDX-License-Identifier: GPL-3.0-or-later
// Field tables. A document type lists its fields once (name, member, unit, range, help). JSON, JSON
// Schema, --set, validation and the inspector are derived from that list.
//
// template <> struct base::Fields<Training> {
//   static constexpr std::string_view title = "Training";
//   static auto table() {
//     return std::tuple{base::field("batch_per_rank", &Training::batch_per_rank, "samples",
//                                   {1, 1 << 20}, "Samples a rank ..."), ...};
//   }
// };
//
// A member may be bool, an integer, double, std::string, an enum with `Names`, another document, or
// a std::vector of these. The default of a field is the member's value in a default-constructed
// document.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/base/names.h"

namespace trainyard::base {

// Inclusive bounds of a number, or of the length of a text or list.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::string_view unit{};  // unit of both bounds, used in messages
};

// Specialize this template for each type of document, with the static members `title`, `table()`,
// and optionally `hides(document, part, field)`. `hides` returns true if the field `field` of the
// nested document `part` has no effect, given the values of the outer document.
template <class Document>
struct Fields;

template <class Owner, class Value>
struct Field {
  using value_type = Value;
  std::string_view name;
  Value Owner::*member;
  std::string_view unit;
  Range range;
  std::string_view help;
  // returns true if the field has an effect, given the other values of the document, such as its
  // kind; null: the field always has an effect
  bool (*used)(const Owner&) = nullptr;
};

template <class Owner, class Value>
constexpr Field<Owner, Value> field(std::string_view name, Value Owner::*member,
                                    std::string_view unit, Range range, std::string_view help,
                                    std::type_identity_t<bool (*)(const Owner&)> used = nullptr) {
  range.unit = unit;
  return {name, member, unit, range, help, used};
}

template <class T>
concept IsDocument = requires {
  Fields<T>::title;
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

// Calls visit(field) for every field of the document type, in table order.
template <IsDocument Document, class Visit>
void for_each_field(const Visit& visit) {
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, Fields<Document>::table());
}

// Calls visit(document, path) if the value is a document, or for each document in it if it is a
// list.
template <class Value, class Visit>
void for_each_document(Value& value, const std::string& path, const Visit& visit) {
  using Plain = std::remove_const_t<Value>;
  if constexpr (IsDocument<Plain>) {
    visit(value, path);
  } else if constexpr (IsVector<Plain>::value) {
    if constexpr (IsDocument<typename Plain::value_type>)
      for (std::size_t i = 0; i < value.size(); ++i)
        visit(value[i], path + "[" + std::to_string(i) + "]");
  }
}

}  // namespace trainyard::base
