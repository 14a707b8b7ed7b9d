// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/json.h"

#include <fmt/core.h>
#include <utf8.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/base/content.h"
#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/base/shortened.h"
#include "core/base/units.h"

namespace trainyard::base {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxBytes = 64u << 20;
constexpr unsigned kDelete = 0x7F;  // the first control character that the library does not escape

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

// Checks the limits that the parser does not check: depth, number of keys, and no repeated key.
class Bounds {
 public:
  explicit Bounds(std::size_t max_keys) : max_keys_(max_keys) {}
  void follow(Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start: return open();
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end: return keys_.pop_back();
      case Json::parse_event_t::key: return add_key(parsed.get_ref<const std::string&>());
      case Json::parse_event_t::value: return;
    }
  }

 private:
  void open() {
    if (keys_.size() == kMaxDepth)
      throw std::length_error(fmt::format("nested deeper than {} levels", kMaxDepth));
    keys_.emplace_back();
  }

  void add_key(const std::string& key) {
    if (!keys_.back().insert(key).second)
      throw std::invalid_argument(
          fmt::format("the key \"{}\" is given twice in one object", shortened(key)));
    if (keys_.back().size() > max_keys_)
      throw std::length_error(fmt::format("an object with more than {} keys", max_keys_));
  }

  std::size_t max_keys_;
  std::vector<std::set<std::string>> keys_;  // keys seen in each open object; empty for an array
};

// Finds the position at which the parser stops because of an error.
class Stop : public Json::json_sax_t {
 public:
  static std::size_t in(std::string_view text) {
    Stop stop;
    Json::sax_parse(text, &stop);
    return stop.byte_;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
    return byte_ = byte, false;
  }

 private:
  std::size_t byte_ = 0;
};

Problem bad_path(const std::string& path, std::string what) {
  return {"bad_path",
          ProblemCode::bad_input,
          path,
          std::move(what),
          "a path such as training.batch_per_rank or topology.hosts[0].name",
          "Correct the path. An index is written in brackets, for example hosts[0]."};
}

using Step = std::variant<std::string, std::size_t>;  // a key or an index

// Parses an index such as "[0]" at position `at`, and advances `at` past it. Returns false if there
// is no index.
bool take_index(const std::string& path, std::size_t& at, std::vector<Step>& steps) {
  const char* const path_end = path.data() + path.size();
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(path.data() + at + 1, path_end, index);
  if (error != std::errc{} || end == path_end || *end != ']') return false;
  steps.emplace_back(index);
  at = static_cast<std::size_t>(end - path.data()) + 1;
  return true;
}

// Parses "name", or ".name" if it is not the first step of the path.
bool take_key(const std::string& path, std::size_t& at, std::vector<Step>& steps) {
  if (at > 0 && path[at] != '.') return false;
  const std::size_t start = at > 0 ? at + 1 : 0;
  at = std::min(path.find_first_of(".[", start), path.size());
  if (at == start) return false;
  steps.emplace_back(path.substr(start, at - start));
  return true;
}

Result<std::vector<Step>> split_path(const std::string& path) {
  std::vector<Step> steps;
  for (std::size_t at = 0; at < path.size();) {
    if (steps.size() == kMaxDepth)
      return fail(bad_path(path.substr(0, 40) + "...",
                           "the path has more levels than a document may have"));
    const bool taken = path[at] == '[' ? take_index(path, at, steps) : take_key(path, at, steps);
    if (!taken) return fail(bad_path(path, "cannot read this path"));
  }
  if (steps.empty()) return fail(bad_path(path, "the path is empty"));
  return steps;
}

// Returns the value in `parent` that a step of a path (key or index) names; null if there is none.
Json* step_into(Json& parent, const Step& step) {
  if (const auto* key = std::get_if<std::string>(&step)) {
    if (!parent.is_object()) return nullptr;
    const auto at = parent.find(*key);
    return at == parent.end() ? nullptr : &*at;
  }
  const std::size_t index = std::get<std::size_t>(step);
  return parent.is_array() && index < parent.size() ? &parent[index] : nullptr;
}

// Returns the problem of a path if its step `step` names no value in `parent`.
Problem missing_value(const std::string& path, const Json& parent, const Step& step) {
  const auto* index = std::get_if<std::size_t>(&step);
  if (index != nullptr && parent.is_array())
    return {"bad_path",
            ProblemCode::bad_input,
            path,
            fmt::format("index {} is out of range, because the list has {}", *index,
                        counted(std::ssize(parent), "entry", "entries")),
            parent.empty() ? "" : fmt::format("0 to {}", parent.size() - 1),
            parent.empty() ? "Set the list first." : "Choose one of these indices."};
  return bad_path(path, "the document has no value at this path");
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& where, std::size_t max_keys) {
  const auto bad = [&](std::string what) {
    return fail({"bad_json", ProblemCode::bad_input, where, std::move(what), "one JSON document",
                 "Correct the document at this place, or use a copy of it."});
  };
  if (text.size() > kMaxBytes) return bad("the document is larger than 64 MiB");
  if (auto wide = wide_text(text, where)) return fail(*wide);
  if (auto wrong = not_utf8(text, where)) return fail(*wrong);
  Bounds bounds(max_keys);
  try {
    return Json::parse(text, [&](int, Json::parse_event_t event, const Json& parsed) {
      return bounds.follow(event, parsed), true;
    });
  } catch (const Json::parse_error& error) {
    std::string reason = error.what();
    if (const auto colon = reason.rfind("; "); colon != std::string::npos)
      reason = reason.substr(colon + 2);
    return bad("not JSON at " + line_and_column(text, error.byte) + ": " + reason);
  } catch (const Json::out_of_range&) {  // the parser throws this exception only for numbers
    return bad("unsupported JSON: a number is too large at " +
               line_and_column(text, Stop::in(text)));
  } catch (const std::exception& error) {
    return bad(std::string("unsupported JSON: ") + error.what());
  }
}

std::string to_text(const Json& json, int indent) {
  const std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  const bool is_ascii =
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= kDelete; });
  if (is_ascii) return text;  // the library has escaped all control characters below 0x20
  std::string escaped;
  for (auto at = text.begin(); at != text.end();) {
    const char32_t c = utf8::unchecked::next(at);
    if (c >= kDelete && is_control(c))
      escaped += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
    else utf8::unchecked::append(c, std::back_inserter(escaped));
  }
  return escaped;
}

Result<Json> value_at(const Json& document, const std::string& path) {
  const auto steps = split_path(path);
  if (!steps) return fail(steps.error());
  Json* at = const_cast<Json*>(&document);
  for (const Step& step : *steps)
    if (Json* next = step_into(*at, step); next != nullptr) at = next;
    else return fail(missing_value(path, *at, step));
  return *at;
}

Result<void> set_value_at(Json& document, const std::string& path, Json value) {
  const auto steps = split_path(path);
  if (!steps) return fail(steps.error());
  Json changed = document;
  Json* at = &changed;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const auto* key = std::get_if<std::string>(&(*steps)[i]);
    if (key != nullptr && at->is_object() && !at->contains(*key))
      (*at)[*key] = i + 1 < steps->size() ? Json::object() : Json();
    if (Json* next = step_into(*at, (*steps)[i]); next != nullptr) at = next;
    else return fail(missing_value(path, *at, (*steps)[i]));
  }
  *at = std::move(value);
  document = std::move(changed);
  return {};
}

Result<Json> read_json(const std::filesystem::path& path) {
  return read_file(path, kMaxBytes).and_then([&](const std::string& text) {
    return parse_json(text, path.string());
  });
}

SharedJson::SharedJson() : json_(std::make_shared<const Json>()) {}
SharedJson::SharedJson(Json json) : json_(std::make_shared<const Json>(std::move(json))) {}

}  // namespace trainyard::base
