// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/parse_token.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace trainyard::plan {
namespace {

constexpr std::string_view kNumberExpected = "expected a number here";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes a prefix and the number after it from the front of `rest`, and returns the number.
// Returns -1 if `rest` does not begin with the prefix, and nothing if no number follows the prefix.
std::optional<std::int32_t> take_field(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return -1;
  rest.remove_prefix(prefix.size());
  const auto digits =
      static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_digit) - rest.begin());
  const auto value = number_of(rest.substr(0, digits), kMaxId);
  if (!value) return std::nullopt;
  rest.remove_prefix(digits);
  return static_cast<std::int32_t>(*value);
}

// Parses the end of a range of chunks, such as "-5" in the token part "c3-5".
bool take_last_chunk(std::string_view& rest, Op& op) {
  if (op.chunk < 0 || !rest.starts_with("-")) return true;
  const auto last = take_field(rest, "-");
  if (!last || *last <= op.chunk || *last == kMaxId) return false;
  op.chunks = *last - op.chunk + 1;
  return true;
}

bool take_summands(std::string_view& rest, Op& op) {
  for (std::string_view prefix = "<r"; rest.starts_with(prefix); prefix = ",r") {
    const auto rank = take_field(rest, prefix);
    if (!rank) return false;
    op.summands.push_back(*rank);
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> number_of(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || error != std::errc() ||
      end != text.data() + text.size() || value > most)
    return std::nullopt;
  return value;
}

TokenOutcome read_token(std::string_view text) {
  std::string_view rest = text;
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto letters = static_cast<std::size_t>(
      std::find_if_not(text.begin(), text.end(), is_capital) - text.begin());
  const auto kind = kind_of(text.substr(0, letters), OpKind::answer);
  if (!kind) return {std::nullopt, 0, "unknown kind of op"};
  rest.remove_prefix(letters);
  Op op;
  op.kind = *kind;
  const auto failed = [&](std::string_view what) {
    return TokenOutcome{std::nullopt, text.size() - rest.size(), what};
  };
  const std::pair<std::string_view, std::int32_t*> fields[] = {{".s", &op.segment},
                                                               {".m", &op.micro},
                                                               {".b", &op.bucket},
                                                               {".t", &op.round},
                                                               {".c", &op.chunk}};
  for (const auto& [prefix, value] : fields) {
    const auto found = take_field(rest, prefix);
    if (!found) return failed(kNumberExpected);
    *value = *found;
  }
  if (!take_last_chunk(rest, op))
    return failed("expected a number above that of the first chunk here");
  if (op.kind == OpKind::reduce_many || op.kind == OpKind::mix) {
    if (!take_summands(rest, op)) return failed(kNumberExpected);
  } else {
    const auto peer = take_field(rest, names_destination(op.kind) ? ">r" : "<r");
    if (!peer) return failed(kNumberExpected);
    op.peer = *peer;
  }
  if (!rest.empty()) return failed("expected the end of the token here");
  return {op, 0, {}};
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != 127 && c != '[' && c != ']';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits) &&
         std::find(kReserved.begin(), kReserved.end(), text) == kReserved.end();
}

base::Result<Op> parse_token(std::string_view text) {
  TokenOutcome read = read_token(text);
  if (read.op) return std::move(*read.op);
  return base::fail({"bad_token", base::ProblemCode::bad_input,
                     fmt::format("column {}", read.at + 1),
                     fmt::format("\"{}\" is not an op: {}", text.substr(0, kMaxQuoted), read.what),
                     "an op, such as F.s0.m0", ""});
}

}  // namespace trainyard::plan
