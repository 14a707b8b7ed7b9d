// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/units.h"

#include <fmt/core.h>
#include <fmt/printf.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace trainyard::base {
namespace {

struct Prefix {
  double scale;
  const char* symbol;
};
constexpr std::array<Prefix, 9> kPrefixes{{{1e15, "P"},
                                           {1e12, "T"},
                                           {1e9, "G"},
                                           {1e6, "M"},
                                           {1e3, "k"},
                                           {1, ""},
                                           {1e-3, "m"},
                                           {1e-6, "µ"},
                                           {1e-9, "n"}}};

std::string three_digits(double value) {
  std::array<char, 32> text{};
  const double size = std::fabs(value);
  std::snprintf(text.data(), text.size(),
                size >= 99.95   ? "%.0f"
                : size >= 9.995 ? "%.1f"
                : size >= 0.1   ? "%.2f"
                                : "%.3g",
                value);
  std::string result = text.data();
  if (result.find('.') != std::string::npos && result.find('e') == std::string::npos) {
    while (result.back() == '0') result.pop_back();
    if (result.back() == '.') result.pop_back();
  }
  return result;
}

}  // namespace

std::string with_unit(double value, const char* unit) {
  if (value == 0 || !std::isfinite(value))
    return (value == 0 ? std::string("0") : std::to_string(value)) + " " + unit;
  for (const Prefix& prefix : kPrefixes)
    if (std::fabs(value) >= 0.9995 * prefix.scale)
      return three_digits(value / prefix.scale) + " " + prefix.symbol + unit;
  return three_digits(value / kPrefixes.back().scale) + " " + kPrefixes.back().symbol + unit;
}

std::string format_bytes(double bytes) { return with_unit(bytes, "B"); }

std::string format_seconds(double seconds) {
  if (!(std::fabs(seconds) >= 60 && std::fabs(seconds) < 1e15)) return with_unit(seconds, "s");
  if (seconds < 0) return "-" + format_seconds(-seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string counted(std::int64_t count, std::string_view noun, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", format_count(count), noun)
                        : fmt::format("{} {}", format_count(count), plural);
}

std::string number_text(double value, const char* format) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::sprintf(format, value);
}

}  // namespace trainyard::base
