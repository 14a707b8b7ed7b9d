// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/quantity.h"

#include <QLocale>
#include <QRegularExpression>
#include <QStringList>
#include <array>
#include <cmath>

#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

struct Prefix {
  const char* symbol;
  int exponent;
};
constexpr std::array<Prefix, 9> kPrefixes{
    {{"P", 15}, {"T", 12}, {"G", 9}, {"M", 6}, {"k", 3}, {"", 0}, {"m", -3}, {"µ", -6}, {"n", -9}}};

QString shortest(double value) {
  return QString::number(value, 'g', QLocale::FloatingPointShortest);
}

bool is_exactly_whole(double value) {
  return value == std::floor(value) && std::fabs(value) < 1e15;
}

// Formats whole numbers without an exponent, as far as doubles represent them exactly. Digits are
// grouped only if the number has a unit. A number without a unit is a seed or an index, which is
// never grouped.
QString plain(double value, const QString& unit) {
  if (!is_exactly_whole(value)) return shortest(value);
  return unit.isEmpty() ? QString::number(value, 'f', 0)
                        : grouped(static_cast<std::int64_t>(value));
}

// True if commas in a number are group separators. A comma after leading zeros is a decimal comma.
// Other commas in a count are group separators, because a count has no fraction. In other numbers,
// a comma that is not followed by exactly three digits is a decimal comma.
bool commas_group(const QString& number, const QString& unit) {
  static const QRegularExpression misplaced(R"(,(?!\d{3}(?!\d)))"), behind_zero(R"(^[+-]?0+,)");
  return !number.contains(behind_zero) &&
         ((!unit.isEmpty() && !takes_prefix(unit)) || !number.contains(misplaced));
}

// Returns the number times 10^`exponent`, rounded once.
double scaled(const QString& number, int exponent) {
  return number.contains('e', Qt::CaseInsensitive)
             ? number.toDouble() * std::pow(10.0, exponent)
             : (number + "e" + QString::number(exponent)).toDouble();
}

std::optional<int> exponent_of(const QString& symbol) {
  if (symbol == "u" || symbol == "μ") return -6;
  if (symbol == "K") return 3;
  for (const Prefix& prefix : kPrefixes)
    if (symbol == QString::fromUtf8(prefix.symbol)) return prefix.exponent;
  return {};
}

}  // namespace

bool takes_prefix(const QString& unit) {
  return QStringList{"B", "B/s", "bit/s", "flop/s", "s"}.contains(unit);
}

QString format_quantity(double value, const QString& unit) {
  const QString tail = unit.isEmpty() ? QString() : " " + (value == 1 ? singular(unit) : unit);
  if (!takes_prefix(unit) || value == 0 || !std::isfinite(value)) return plain(value, unit) + tail;
  for (const Prefix& prefix : kPrefixes) {
    if (std::fabs(value) < 0.9995 * std::pow(10.0, prefix.exponent)) continue;
    const QString number = QString::number(value / std::pow(10.0, prefix.exponent), 'g', 12);
    if (scaled(number, prefix.exponent) == value)
      return number + " " + QString::fromUtf8(prefix.symbol) + unit;
    break;
  }
  return plain(value, unit) + tail;
}

std::optional<double> parse_quantity(const QString& text, const QString& unit) {
  static const QRegularExpression form(
      R"(^\s*([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*$)");
  const auto match = form.match(text);
  if (!match.hasMatch() || !commas_group(match.captured(1), unit)) return {};
  const QString number = match.captured(1).remove(',');
  QString rest = match.captured(2);
  for (const QString& name : {unit, singular(unit)})
    if (!name.isEmpty() && rest.endsWith(name)) rest.chop(name.size());
  const auto exponent = exponent_of(rest.trimmed());
  if (!exponent || (*exponent != 0 && !takes_prefix(unit))) return {};
  const double value = scaled(number, *exponent);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

double next_round(double value, bool up) {
  if (value < 0) return -next_round(-value, !up);
  if (value == 0) return up ? 1e-6 : 0;
  const int decade = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  QList<double> candidates;
  for (int d = decade - 1; d <= decade + 1; ++d)
    for (const char* digit : {"1", "2", "5"}) candidates << scaled(digit, d);
  if (up) {
    for (const double candidate : candidates)
      if (candidate > value * (1 + 1e-9)) return candidate;
  } else {
    for (qsizetype i = candidates.size(); i-- > 0;)
      if (candidates[i] < value * (1 - 1e-9))
        return candidates[i] < 1e-6 * (1 - 1e-9) && value <= 1e-6 ? 0 : candidates[i];
  }
  return value;
}

}  // namespace trainyard::ui
