// SPDX-License-Identifier: GPL-3.0-or-later
// Dialect of a CSV file and treatment of its columns. By default the dialect is detected from the
// first mebibyte of the file.
#pragma once

#include <string>
#include <vector>

#include "core/base/field_table.h"

namespace trainyard::data {

enum class CsvDelimiter { detect, comma, semicolon, tab };
enum class CsvDecimal { detect, point, comma };
enum class CsvHeader { detect, present, absent };
enum class CsvMissing {
  refuse,  // A missing value is an error.
  drop,    // Samples with a missing value are left out.
  mean,    // A missing number becomes the mean of the column's training samples.
};

struct CsvSpec {
  CsvDelimiter delimiter = CsvDelimiter::detect;
  CsvDecimal decimal = CsvDecimal::detect;
  CsvHeader header = CsvHeader::detect;
  CsvMissing missing = CsvMissing::refuse;
  // Columns by name, or by position from 1 if no column has that name.
  std::vector<std::string> ignored;     // columns that are not used as features
  std::vector<std::string> categories;  // columns of numbers that are categories, such as codes

  bool operator==(const CsvSpec&) const = default;
};

}  // namespace trainyard::data

template <>
struct trainyard::base::Names<trainyard::data::CsvDelimiter> {
  using D = trainyard::data::CsvDelimiter;
  static constexpr std::pair<D, std::string_view> table[] = {
      {D::detect, "auto"}, {D::comma, "comma"}, {D::semicolon, "semicolon"}, {D::tab, "tab"}};
};
template <>
struct trainyard::base::Names<trainyard::data::CsvDecimal> {
  using D = trainyard::data::CsvDecimal;
  static constexpr std::pair<D, std::string_view> table[] = {
      {D::detect, "auto"}, {D::point, "point"}, {D::comma, "comma"}};
};
template <>
struct trainyard::base::Names<trainyard::data::CsvHeader> {
  using H = trainyard::data::CsvHeader;
  static constexpr std::pair<H, std::string_view> table[] = {
      {H::detect, "auto"}, {H::present, "present"}, {H::absent, "absent"}};
};
template <>
struct trainyard::base::Names<trainyard::data::CsvMissing> {
  using M = trainyard::data::CsvMissing;
  static constexpr std::pair<M, std::string_view> table[] = {
      {M::refuse, "refuse"}, {M::drop, "drop"}, {M::mean, "mean"}};
};

template <>
struct trainyard::base::Fields<trainyard::data::CsvSpec> {
  using S = trainyard::data::CsvSpec;
  static constexpr std::string_view title = "CSV file";
  static auto table() {
    return std::tuple{
        field("delimiter", &S::delimiter, "", {},
              "Character between two fields; auto: detected from the first lines"),
        field("decimal", &S::decimal, "", {},
              "Decimal separator of numbers; auto: a comma if numbers contain commas but no "
              "points, unless the delimiter is a comma and all commas may separate thousands"),
        field("header", &S::header, "", {},
              "First line of the file; present: names of the columns; absent: a sample; auto: "
              "absent if it contains only values that also occur in samples, or only numbers with "
              "a fraction among them"),
        field("missing", &S::missing, "", {},
              "Treatment of missing values (empty, NA, NaN, null, None or ?); refuse: report an "
              "error; drop: leave out the sample; mean: use the mean of the column's training "
              "samples"),
        field("ignored", &S::ignored, "", {0, 4096},
              "Columns that are not used, by name or by position from 1"),
        field("categories", &S::categories, "", {0, 4096},
              "Columns of numbers that are categories, such as postal codes, by name or by "
              "position from 1. A column of texts is always a category")};
  }
};
