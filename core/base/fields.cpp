// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/shortened.h"
#include "core/base/units.h"

namespace trainyard::base {
namespace {

std::string number_text(double value) {
  if (std::fabs(value) < 1e15 && value == std::floor(value))
    return format_count(static_cast<std::int64_t>(value));
  return Json(value).dump();
}

// True if the bound should be shown. Infinity and the limits of the number's type are not shown.
bool is_bound(double value) { return std::fabs(value) < 9e18; }

// True for units that are shown with SI prefixes, such as MB.
bool takes_prefix(std::string_view unit) {
  return unit == "B" || unit == "B/s" || unit == "bit/s" || unit == "flop/s";
}

std::string range_text(const Range& range) {
  const bool low = is_bound(range.low), high = is_bound(range.high);
  const auto text = [&](double bound) {
    return takes_prefix(range.unit) ? with_unit(bound, std::string(range.unit).c_str())
                                    : number_text(bound);
  };
  if (low && high) return text(range.low) + " to " + text(range.high);
  if (low) return "at least " + text(range.low);
  if (high) return "at most " + text(range.high);
  return "any";
}

constexpr double kMaxExact = 9007199254740992;  // 2^53

// True if the number is an integer. Like JSON Schema, accepts 1e6 as an integer. Rejects values
// above 2^53, for which a double cannot distinguish adjacent integers.
bool is_integer(const Json& value) {
  if (!value.is_number_float()) return value.is_number_integer();
  const double number = value.get<double>();
  return std::abs(number) <= kMaxExact && std::trunc(number) == number;
}

Json schema_of_kind(FieldKind kind, const FieldDescription& d) {
  switch (kind) {
    case FieldKind::boolean: return {{"type", "boolean"}};
    case FieldKind::integer: return {{"type", "integer"}};
    case FieldKind::number: return {{"type", "number"}};
    case FieldKind::text: return {{"type", "string"}};
    case FieldKind::choice: return {{"enum", d.choices}};
    case FieldKind::document: return json_schema(d.fields, "");
    case FieldKind::list: return {{"type", "array"}, {"items", schema_of_kind(d.element, d)}};
  }
  return {};
}

void add_constraints(Json& schema, const FieldDescription& d) {
  const bool numeric = d.kind == FieldKind::integer || d.kind == FieldKind::number;
  const char* low = numeric ? "minimum" : d.kind == FieldKind::list ? "minItems" : "minLength";
  const char* high = numeric ? "maximum" : d.kind == FieldKind::list ? "maxItems" : "maxLength";
  const auto bound = [&](double value) {
    return d.kind == FieldKind::number ? Json(value) : Json(static_cast<std::int64_t>(value));
  };
  if (std::isfinite(d.range.low)) schema[low] = bound(d.range.low);
  if (std::isfinite(d.range.high)) schema[high] = bound(d.range.high);
}

// Returns a JSON Schema rule: unless the object's kind is one of `kinds`, the object has none of
// the keys in `absent`. An object without the key "kind" has the default kind.
Json kind_rule(const std::vector<std::string>& kinds, const std::string& default_kind,
               const Json& absent) {
  Json condition = {{"properties", {{"kind", {{"enum", kinds}}}}}};
  if (std::ranges::find(kinds, default_kind) == kinds.end()) condition["required"] = {"kind"};
  return {{"if", std::move(condition)}, {"else", {{"properties", absent}}}};
}

// Returns the rules of all keys that only some kinds have. Keys of the same kinds share one rule.
Json kind_rules(const std::vector<FieldDescription>& fields) {
  const auto kind = std::ranges::find(fields, "kind", &FieldDescription::name);
  std::vector<std::pair<std::vector<std::string>, Json>> absent_unless;
  for (const FieldDescription& d : fields) {
    if (d.kinds.empty()) continue;
    auto at = std::ranges::find(absent_unless, d.kinds,
                                &std::pair<std::vector<std::string>, Json>::first);
    if (at == absent_unless.end()) at = absent_unless.insert(at, {d.kinds, Json::object()});
    at->second[d.name] = false;
  }
  Json rules = Json::array();
  for (const auto& [kinds, absent] : absent_unless)
    rules.push_back(kind_rule(kinds, (*kind->default_value).get<std::string>(), absent));
  return rules;
}

}  // namespace

namespace detail {

void report(Problems& problems, const char* id, const std::string& path, std::string what,
            std::string accepted, std::string advice) {
  problems.push_back(
      {id, ProblemCode::bad_input, path, std::move(what), std::move(accepted), std::move(advice)});
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues_character(c); }));
}

std::string found(const Json& value) {
  std::string text = value.is_structured()
                         ? ""
                         : shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "the text " + text;
    case Json::value_t::boolean: return text;
    default: return "the number " + text;
  }
}

bool check_number(const Json& value, bool whole, const Range& range, const std::string& path,
                  Problems& problems) {
  const bool too_large = value.is_number_float() && std::abs(value.get<double>()) > kMaxExact;
  if (!value.is_number() || (whole && !too_large && !is_integer(value))) {
    report(problems, "wrong_type", path,
           fmt::format("expected a {}, found {}", whole ? "whole number" : "number", found(value)),
           range_text(range), fmt::format("Write a {}.", whole ? "whole number" : "number"));
    return false;
  }
  const double number = value.get<double>();
  const bool beyond_int64 =
      whole && value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62;
  if (std::isfinite(number) && number >= range.low && number <= range.high && !beyond_int64 &&
      !(whole && too_large))
    return true;
  report(problems, "out_of_range", path, found(value) + " is out of range",
         whole && too_large && !is_bound(range.high) ? "-2^53 to 2^53" : range_text(range),
         "Choose a value in this range.");
  return false;
}

bool check_length(std::size_t length, const Range& range, const char* unit, const std::string& path,
                  Problems& problems) {
  const auto size = static_cast<double>(length);
  if (size >= range.low && size <= range.high) return true;
  const bool is_empty_text = length == 0 && std::string_view(unit) == "characters";
  report(problems, "wrong_length", path,
         is_empty_text ? "is empty or missing" : fmt::format("has {} {}", length, unit),
         fmt::format("{} {}", range_text(range), unit),
         is_empty_text      ? "Enter a value."
         : size < range.low ? fmt::format("Add {}.", unit)
                            : fmt::format("Remove {}.", unit));
  return false;
}

void report_no_object(const Json& value, const std::vector<std::string>& accepted,
                      const std::string& path, Problems& problems) {
  const std::string example =
      accepted.empty() ? "" : fmt::format(", for example {}", child(path, accepted.front()));
  report(problems, "wrong_type", path, "expected an object, found " + found(value),
         "an object with the keys " + joined_names(accepted),
         "Set one of its keys" + example + ".");
}

void check_keys(const Json& object, const std::vector<std::string>& known,
                const std::vector<std::string>& accepted, const std::string& path,
                Problems& problems) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::count(known, key) > 0) continue;
    const std::string guess = nearest_name(key, accepted);
    report(problems, kUnknownKey, child(path, shortened(key)), "unknown key",
           joined_names(accepted),
           guess.empty() ? "Correct the key, or remove it."
                         : fmt::format("Did you mean \"{}\"?", guess));
  }
}

}  // namespace detail

Json json_schema(const std::vector<FieldDescription>& fields, std::string_view title) {
  Json schema = {{"type", "object"}};
  if (!title.empty())
    schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", title},
              {"type", "object"}};
  schema["additionalProperties"] = false;
  Json& properties = schema["properties"] = Json::object();
  for (const FieldDescription& d : fields) {
    Json property = schema_of_kind(d.kind, d);
    property["description"] = d.unit.empty() ? d.help : d.help + " [" + d.unit + "]";
    if (d.kind != FieldKind::document && d.kind != FieldKind::list)
      property["default"] = *d.default_value;
    add_constraints(property, d);
    properties[d.name] = std::move(property);
  }
  if (Json rules = kind_rules(fields); !rules.empty()) schema["allOf"] = std::move(rules);
  return schema;
}

}  // namespace trainyard::base
