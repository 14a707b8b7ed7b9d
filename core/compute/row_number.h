// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of rows that come among numbers of other kinds, as samples have them.
#pragma once

#include <cstdint>

namespace trainyard::compute {

constexpr std::int64_t kNoRow = -1, kElsewhere = -2;

// kNoRow of what is not whole, or outside [0, rows).
template <class T>
constexpr std::int64_t row_number(T number, std::int64_t rows) {
  if (!(number >= 0 && static_cast<double>(number) < static_cast<double>(rows))) return kNoRow;
  const auto row = static_cast<std::int64_t>(number);
  return static_cast<T>(row) == number ? row : kNoRow;
}

// Of a table that has `rows` rows of `all`, from `first` on: which of its own, or kElsewhere. Of
// `all` 0 it is whole.
template <class T>
constexpr std::int64_t row_of_part(T number, std::int64_t rows, std::int64_t first,
                                   std::int64_t all) {
  if (all == 0) return row_number(number, rows);
  const std::int64_t row = row_number(number, all);
  if (row == kNoRow) return kNoRow;
  return row >= first && row < first + rows ? row - first : kElsewhere;
}

}  // namespace trainyard::compute
