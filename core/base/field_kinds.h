// SPDX-License-Identifier: GPL-3.0-or-later
// Documents with a member `kind`, such as a layer: the kind determines which other fields the
// document has. For example, a layer of kind relu has no `heads`. A field that only other kinds
// have is called a foreign key.
//
// A field belongs to a kind if documents of that kind use it, either with the values that the other
// fields have or with their defaults. If a document has no member `kind`, all fields belong to it.
#pragma once

#include <iterator>
#include <string>
#include <vector>

#include "core/base/field_table.h"

namespace trainyard::base {

template <class Document>
concept HasKind = IsDocument<Document> && requires(Document document) {
  requires IsNamed<decltype(document.kind)>;
};

namespace detail {

template <IsDocument Document, class Value>
bool kind_has(Document document, const Field<Document, Value>& field) {
  if (field.used == nullptr || field.used(document)) return true;
  if constexpr (HasKind<Document>) {
    Document other{};
    other.kind = document.kind;
    return field.used(other);
  } else {
    return true;
  }
}

}  // namespace detail

// Returns the names of the kinds that have the field; empty if all kinds have the field.
template <IsDocument Document, class Value>
std::vector<std::string> kinds_with(const Document& document, const Field<Document, Value>& field) {
  std::vector<std::string> kinds;
  if constexpr (HasKind<Document>) {
    Document other = document;
    const auto& table = Names<decltype(other.kind)>::table;
    for (const auto& [kind, name] : table) {
      other.kind = kind;
      if (detail::kind_has(other, field)) kinds.emplace_back(name);
    }
    if (kinds.size() == std::size(table)) kinds.clear();
  }
  return kinds;
}

// True if only other kinds have the field.
template <IsDocument Document, class Value>
bool is_foreign(const Document& document, const Field<Document, Value>& field) {
  return !detail::kind_has(document, field) && !kinds_with(document, field).empty();
}

}  // namespace trainyard::base
