// SPDX-License-Identifier: GPL-3.0-or-later
// Row numbers stored as floating-point numbers, as in samples.
#pragma once

#include <cstdint>

namespace trainyard::compute {

constexpr std::int64_t kNoRow = -1, kElsewhere = -2;

// Returns the row number as an integer, or kNoRow if it is not an integer in [0, rows).
template <class T>
constexpr std::int64_t row_number(T number, std::int64_t rows) {
  if (!(number >= 0 && static_cast<double>(number) < static_cast<double>(rows))) return kNoRow;
  const auto row = static_cast<std::int64_t>(number);
  return static_cast<T>(row) == number ? row : kNoRow;
}

// Converts a row number of a full table to a row of a shard, which holds `rows` rows from `first`
// on. Returns kElsewhere if the row is in another shard. If `all`, the number of rows of the full
// table, is 0, the table is not sharded.
template <class T>
constexpr std::int64_t row_of_part(T number, std::int64_t rows, std::int64_t first,
                                   std::int64_t all) {
  if (all == 0) return row_number(number, rows);
  const std::int64_t row = row_number(number, all);
  if (row == kNoRow) return kNoRow;
  return row >= first && row < first + rows ? row - first : kElsewhere;
}

}  // namespace trainyard::compute
