// SPDX-License-Identifier: GPL-3.0-or-later
// Dialect of a CSV file: delimiter, decimal separator, and whether the first line is a header.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/csv_spec.h"

namespace trainyard::data {

struct CsvDialect {
  char delimiter = ',';
  bool decimal_comma = false;
  bool header = true;

  // For example "comma-delimited, decimal point, header line".
  std::string text() const;
};

// Reads the text at the start of a file and detects the settings that the spec leaves open.
// `complete`: the text is the entire file, so its last record is complete. `label_column` as in
// DataSpec.
//
// Delimiter: the one that the first line states (sep=;), which is no record. Otherwise a candidate
// must give all records the same number of fields, at least 2. The candidate with the largest
// fraction of numeric fields is chosen; without candidates, the comma.
//
// Decimal separator: the comma if numbers contain commas and none contains a point. If the
// delimiter is the comma too, the numbers are quoted: each of their columns must hold only numbers,
// and at least one comma must not look like a thousands separator.
//
// Header: the first line is a sample if one of these holds, otherwise it is a header:
// - All its fields are numbers, and one has a fraction.
// - It has a number with a fraction, or the same number twice, and no text above a column of
//   numbers.
// - Each field is a number in a column of numbers, or a text that a later line contains in the same
//   column.
// The numbers 0, 1, 2, ... and 1, 2, 3, ... are a header too: pandas writes it for columns without
// names.
CsvDialect detect_dialect(std::string_view start, bool complete, const CsvSpec& spec,
                          const std::string& label_column);

// Returns the delimiter that the first line states for Excel (sep=;); nothing if it states none.
std::optional<char> stated_delimiter(std::string_view start);

// True for the fields 0, 1, 2, ... and 1, 2, 3, ...
bool counts_columns(const std::vector<std::string>& row);

// Removes blanks at both ends.
std::string_view trimmed(std::string_view text);

// True if the field stands for a missing value: empty, NA, N/A, NaN, null, None (in upper, lower or
// mixed case), #N/A, <NA> or ?.
bool is_missing(std::string_view trimmed_field);

// Returns the number in the field, or nothing. Underflow gives 0; overflow gives infinity.
std::optional<double> csv_number(std::string_view trimmed_field, bool decimal_comma);

// Returns the index of the column with this name or, if no column has it, with this position from
// 1. Nothing if there is no such column, or if several have the name.
std::optional<std::size_t> find_column(const std::vector<std::string>& names,
                                       const std::string& name);

}  // namespace trainyard::data
