// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify/figure_checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

namespace trainyard::session {

using base::Json;

bool agree(const Json& a, const Json& b, double tolerance) {
  if (!a.is_number() || !b.is_number()) return a == b;
  const auto x = a.get<double>(), y = b.get<double>();
  return x == y || std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

Json finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json FigureChecks::stated(const std::string& path) const {
  const Json* at = &result_;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    std::size_t index = 0;
    const bool is_index =
        std::from_chars(key.data(), key.data() + key.size(), index).ec == std::errc{};
    if (at->is_array() && is_index && index < at->size()) at = &(*at)[index];
    else if (at->is_object() && at->contains(key)) at = &(*at)[key];
    else return {};
  }
  return *at;
}

void FigureChecks::compare(const std::string& path, const Json& recomputed, double tolerance,
                           std::string note) {
  compare_values(path, stated(path), recomputed, tolerance, std::move(note));
}

void FigureChecks::compare_values(const std::string& name, const Json& stated,
                                  const Json& recomputed, double tolerance, std::string note) {
  if (stated.is_null() && recomputed.is_null()) return;
  const bool same = agree(stated, recomputed, tolerance);
  add({name, stated, recomputed, same ? CheckStatus::ok : CheckStatus::mismatch, std::move(note)});
}

void FigureChecks::skip(const std::string& path, const std::string& reason) {
  if (Json value = stated(path); !value.is_null())
    add({path, std::move(value), {}, CheckStatus::not_checked, reason});
}

}  // namespace trainyard::session
