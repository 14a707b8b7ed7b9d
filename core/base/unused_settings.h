// SPDX-License-Identifier: GPL-3.0-or-later
// Settings without effect: values that differ from their defaults, in fields that other values of
// the document make unused.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/fields.h"

namespace trainyard::base {

struct UnusedSetting {
  std::string path;  // "strategy.servers.bound"
  // Path of one other field that would give this setting an effect, its value, and the values with
  // which the setting has an effect. Empty if no change of a single field is enough.
  std::string condition;
  std::string found;
  std::vector<std::string> needed;
};

// Formats as "strategy.servers.bound is set, but has no effect: strategy.servers.mode is
// asynchronous (needed: stale_synchronous)".
std::string to_string(const UnusedSetting& unused);

namespace detail {

// Calls visit(changed, path, name, found) for each document that differs from `document` in one
// field: a choice or a switch has another value, or a number is back at its default. `path` is the
// path of the field, `name` its changed value, `found` its value in `document`. Includes fields of
// nested documents.
template <IsDocument Document, class Visit>
void for_each_alternative(const Document& document, const std::string& path, const Visit& visit) {
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& f) {
    const Value& value = document.*(f.member);
    const std::string at = child(path, f.name);
    const auto try_value = [&](const Value& other, const std::string& name,
                               const std::string& found) {
      if (other == value) return;
      Document changed = document;
      changed.*(f.member) = other;
      visit(changed, at, name, found);
    };
    if constexpr (IsDocument<Value>) {
      for_each_alternative(value, at, [&](const Value& part, const auto&... change) {
        Document changed = document;
        changed.*(f.member) = part;
        visit(changed, change...);
      });
    } else if constexpr (IsNamed<Value>) {
      for (const auto& [other, name] : Names<Value>::table)
        try_value(other, std::string(name), std::string(name_of(value)));
    } else if constexpr (std::is_same_v<Value, bool>) {
      try_value(!value, value ? "false" : "true", value ? "true" : "false");
    } else if constexpr (std::is_arithmetic_v<Value>) {
      const Value standard = Document{}.*(f.member);
      try_value(standard, to_text(write_value(standard)), to_text(write_value(value)));
    }
  });
}

// Returns the setting at `path`. `is_used` tells whether a changed document uses it.
template <IsDocument Document, class IsUsed>
UnusedSetting unused_setting(const Document& document, const std::string& document_path,
                             const std::string& path, const IsUsed& is_used) {
  UnusedSetting unused{path, "", "", {}};
  for_each_alternative(
      document, document_path,
      [&](const Document& changed, const std::string& at, const std::string& name,
          const std::string& found) {
        if (!is_used(changed) || (!unused.needed.empty() && at != unused.condition)) return;
        unused.condition = at;
        unused.found = found;
        unused.needed.push_back(name);
      });
  return unused;
}

}  // namespace detail

template <IsDocument Document>
std::vector<UnusedSetting> unused_settings(const Document& document, const std::string& path = "") {
  std::vector<UnusedSetting> unused;
  const Document defaults{};
  for_each_field<Document>([&]<class Value>(const Field<Document, Value>& f) {
    const Value& value = document.*(f.member);
    const std::string place = detail::child(path, f.name);
    if (f.used != nullptr && !f.used(document)) {
      if (write_value(value) != write_value(defaults.*(f.member)))
        unused.push_back(detail::unused_setting(document, path, place, f.used));
      return;
    }
    for_each_document(value, place, [&](const auto& part, const std::string& at) {
      const auto below = unused_settings(part, at);
      unused.insert(unused.end(), below.begin(), below.end());
    });
    if constexpr (IsDocument<Value>) {
      if constexpr (requires { Fields<Document>::hides(document, f.name, f.name); }) {
        for_each_field<Value>([&](const auto& inner) {
          const auto hides = [&](const Document& some) {
            return Fields<Document>::hides(some, f.name, inner.name);
          };
          const bool used = inner.used == nullptr || inner.used(value);
          if (used && hides(document) && value.*(inner.member) != Value{}.*(inner.member))
            unused.push_back(
                detail::unused_setting(document, path, detail::child(place, inner.name),
                                       [&](const Document& changed) { return !hides(changed); }));
        });
      }
    }
  });
  return unused;
}

}  // namespace trainyard::base
