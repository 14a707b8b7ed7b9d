// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/csv_dialect.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include "core/data/csv_records.h"

namespace trainyard::data {
namespace {

constexpr std::size_t kSampledRecords = 1000;

// Records at the start of a file, as a table of trimmed fields.
struct Sample {
  std::vector<std::vector<std::string>> rows;
  bool regular = true;  // all rows have the same number of fields, at least 2
};

Sample sample_of(std::string_view start, bool complete, char delimiter) {
  Sample sample;
  CsvRecords records{std::string(start), nullptr, delimiter, complete};
  while (sample.rows.size() <= kSampledRecords && records.next() == CsvRecords::Outcome::record) {
    auto& row = sample.rows.emplace_back();
    for (const std::string& field : records.fields()) row.emplace_back(trimmed(field));
  }
  if (!complete && sample.rows.size() > 1) sample.rows.pop_back();
  for (const auto& row : sample.rows)
    sample.regular = sample.regular && row.size() >= 2 && row.size() == sample.rows[0].size();
  return sample;
}

bool is_number(std::string_view field) {
  return csv_number(field, false).has_value() || csv_number(field, true).has_value();
}

double fraction_of_numbers(const Sample& sample) {
  std::size_t numbers = 0, fields = 0;
  for (const auto& row : sample.rows) {
    fields += row.size();
    numbers += static_cast<std::size_t>(std::count_if(row.begin(), row.end(), is_number));
  }
  return static_cast<double>(numbers) / static_cast<double>(std::max<std::size_t>(fields, 1));
}

char character_of(CsvDelimiter delimiter) {
  switch (delimiter) {
    case CsvDelimiter::semicolon: return ';';
    case CsvDelimiter::tab: return '\t';
    default: return ',';
  }
}

char detect_delimiter(std::string_view start, bool complete) {
  char best = ',';
  double most = -1;
  for (const char delimiter : {',', ';', '\t'}) {
    const Sample sample = sample_of(start, complete, delimiter);
    if (!sample.regular) continue;
    if (const double numbers = fraction_of_numbers(sample); numbers > most)
      best = delimiter, most = numbers;
  }
  return best;
}

// True for a number with a decimal comma or, else, a decimal point.
bool is_fraction(std::string_view field, bool decimal_comma) {
  return field.find(decimal_comma ? ',' : '.') != std::string_view::npos &&
         csv_number(field, decimal_comma).has_value();
}

bool has_decimal_commas(const Sample& sample) {
  std::size_t commas = 0, points = 0;
  for (const auto& row : sample.rows)
    for (const std::string& field : row) {
      if (is_fraction(field, true)) ++commas;
      if (is_fraction(field, false)) ++points;
    }
  return commas > 0 && points == 0;
}

// True if exactly three digits follow the comma, which may then separate thousands: "1,234".
bool may_separate_thousands(std::string_view fraction) {
  const std::string_view digits = fraction.substr(fraction.find(',') + 1);
  return digits.size() == 3 && digits.find_first_not_of("0123456789") == digits.npos;
}

// For a file with the delimiter comma, where fields with a comma are quoted. Every column with
// decimal commas must hold only numbers, apart from a header: texts such as "1,5" in a column of
// texts are no numbers. A file in which all commas may separate thousands has no decimal commas.
bool has_quoted_decimal_commas(const Sample& sample) {
  if (!sample.regular || sample.rows.empty() || !has_decimal_commas(sample)) return false;
  bool any = false;
  for (std::size_t column = 0; column < sample.rows[0].size(); ++column) {
    bool fractions = false, texts = false;
    for (std::size_t row = 1; row < sample.rows.size(); ++row) {
      const std::string& field = sample.rows[row][column];
      const bool fraction = is_fraction(field, true);
      fractions = fractions || fraction;
      texts = texts || (!csv_number(field, true) && !is_missing(field));
      any = any || (fraction && !may_separate_thousands(field));
    }
    if (fractions && texts) return false;
  }
  return any;
}

// True if the first field of the column could be a value of a sample.
bool begins_with_value(const Sample& sample, std::size_t column, bool label, bool decimal_comma) {
  const std::string& first = sample.rows[0][column];
  bool numeric = true, any = false, occurs = false;
  for (std::size_t row = 1; row < sample.rows.size(); ++row) {
    const std::string& field = sample.rows[row][column];
    const bool number = csv_number(field, decimal_comma).has_value();
    any = any || number;
    numeric = numeric && (number || is_missing(field));
    occurs = occurs || field == first;
  }
  if (!label && numeric && any)
    return csv_number(first, decimal_comma).has_value() || (!first.empty() && is_missing(first));
  return occurs;
}

// True if the first line holds only numbers and at least one of them has a fraction. Unlike years,
// such numbers name no columns.
bool begins_with_fractions(const Sample& sample, bool decimal_comma) {
  if (sample.rows.empty()) return false;
  bool any = false;
  for (const std::string& field : sample.rows[0]) {
    if (!csv_number(field, decimal_comma)) return false;
    any = any || is_fraction(field, decimal_comma);
  }
  return any;
}

// True if the first line has a text above a column of numbers.
bool names_numbers(const Sample& sample, bool decimal_comma) {
  for (std::size_t column = 0; column < sample.rows[0].size(); ++column) {
    const std::string& first = sample.rows[0][column];
    if (csv_number(first, decimal_comma) || is_missing(first)) continue;
    bool numeric = true, any = false;
    for (std::size_t row = 1; row < sample.rows.size(); ++row) {
      const bool number = csv_number(sample.rows[row][column], decimal_comma).has_value();
      any = any || number;
      numeric = numeric && (number || is_missing(sample.rows[row][column]));
    }
    if (numeric && any) return true;
  }
  return false;
}

// True if the first line has a number with a fraction, or the same number twice. Both name no
// columns.
bool has_no_name(const std::vector<std::string>& row, bool decimal_comma) {
  std::set<std::string> numbers;
  return std::ranges::any_of(row, [&](const std::string& field) {
    return csv_number(field, decimal_comma) &&
           (is_fraction(field, decimal_comma) || !numbers.insert(field).second);
  });
}

bool begins_with_header(const Sample& sample, const std::string& label_column, bool decimal_comma) {
  if (begins_with_fractions(sample, decimal_comma)) return false;
  if (sample.rows.size() < 2 || !sample.regular || counts_columns(sample.rows[0])) return true;
  if (std::ranges::count(sample.rows[0], label_column) > 0 && !label_column.empty() &&
      !csv_number(label_column, decimal_comma))
    return true;
  if (has_no_name(sample.rows[0], decimal_comma) && !names_numbers(sample, decimal_comma))
    return false;
  const std::size_t label = label_column.empty()
                                ? sample.rows[0].size() - 1
                                : find_column(sample.rows[0], label_column)
                                      .value_or(std::numeric_limits<std::size_t>::max());
  for (std::size_t column = 0; column < sample.rows[0].size(); ++column)
    if (!begins_with_value(sample, column, column == label, decimal_comma)) return true;
  return false;
}

// The locale "C", so that numbers have decimal points whatever locale the user has set.
locale_t plain_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

}  // namespace

bool counts_columns(const std::vector<std::string>& row) {
  for (const int first : {0, 1}) {
    bool all = true;
    for (std::size_t i = 0; i < row.size(); ++i)
      all = all && row[i] == std::to_string(static_cast<int>(i) + first);
    if (all) return true;
  }
  return false;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool is_missing(std::string_view field) {
  if (field.size() > 9) return false;
  std::string lower(field);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  // Last: what the printf of C libraries and of Windows writes, and pandas for times.
  constexpr std::string_view kWords[] = {
      "",     "na",   "n/a",      "null",      "none",    "#n/a",    "<na>",   "?",  "nan",
      "+nan", "-nan", "nan(ind)", "-nan(ind)", "1.#qnan", "-1.#ind", "1.#ind", "nat"};
  return std::ranges::find(kWords, lower) != std::end(kWords);
}

std::optional<double> csv_number(std::string_view field, bool decimal_comma) {
  std::string text;
  if (decimal_comma) {
    if (field.find('.') != std::string_view::npos) return std::nullopt;
    text = field;
    std::replace(text.begin(), text.end(), ',', '.');
    field = text;
  }
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  double value{};
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end || (error != std::errc() && error != std::errc::result_out_of_range))
    return std::nullopt;
  // from_chars does not say whether a number is too large or too small
  if (error == std::errc::result_out_of_range)
    return strtod_l(std::string(field).c_str(), nullptr, plain_locale());
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> find_column(const std::vector<std::string>& names,
                                       const std::string& name) {
  const auto at = std::ranges::find(names, name);
  if (at != names.end())
    return std::find(at + 1, names.end(), name) == names.end()
               ? std::optional(static_cast<std::size_t>(at - names.begin()))
               : std::nullopt;
  std::size_t position = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), position);
  if (error != std::errc() || stop != name.data() + name.size() || position < 1 ||
      position > names.size())
    return std::nullopt;
  return position - 1;
}

std::optional<char> stated_delimiter(std::string_view start) {
  constexpr std::string_view kStatement = "sep=";
  const std::size_t end = kStatement.size() + 1;
  if (!start.starts_with(kStatement) || start.size() <= end ||
      (start[end] != '\n' && start[end] != '\r'))
    return std::nullopt;
  const char delimiter = start[end - 1];
  return std::string_view(",;\t").find(delimiter) != std::string_view::npos
             ? std::optional(delimiter)
             : std::nullopt;
}

CsvDialect detect_dialect(std::string_view start, bool complete, const CsvSpec& spec,
                          const std::string& label_column) {
  CsvDialect dialect;
  if (const auto stated = stated_delimiter(start)) {
    dialect.delimiter = *stated;
    start.remove_prefix(start.find_first_of("\r\n"));
  } else {
    dialect.delimiter = detect_delimiter(start, complete);
  }
  if (spec.delimiter != CsvDelimiter::detect) dialect.delimiter = character_of(spec.delimiter);
  const Sample sample = sample_of(start, complete, dialect.delimiter);
  dialect.decimal_comma = spec.decimal == CsvDecimal::detect
                              ? (dialect.delimiter == ',' ? has_quoted_decimal_commas(sample)
                                                          : has_decimal_commas(sample))
                              : spec.decimal == CsvDecimal::comma;
  dialect.header = spec.header == CsvHeader::detect
                       ? begins_with_header(sample, label_column, dialect.decimal_comma)
                       : spec.header == CsvHeader::present;
  return dialect;
}

std::string CsvDialect::text() const {
  return fmt::format("{}-delimited, decimal {}, {}",
                     delimiter == ',' ? "comma" : (delimiter == ';' ? "semicolon" : "tab"),
                     decimal_comma ? "comma" : "point", header ? "header line" : "no header line");
}

}  // namespace trainyard::data
