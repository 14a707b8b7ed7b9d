// SPDX-License-Identifier: GPL-3.0-or-later
// Selection of the values that are left when the older part of a series is thinned.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/telemetry/series_block.h"

namespace trainyard::telemetry {

// Divides the first `end` values, which must be in the order of their steps, into blocks of about
// eight values. Returns the indices of the first, the least, the greatest and the last value of
// each block. Blocks begin at multiples of a power of two steps, so that series with the same steps
// keep a value at the same steps: the first step of each block.
// `step(i)` and `value(i)` return a step and a value.
template <class Step, class Value>
std::vector<std::size_t> thinned_indices(std::size_t end, Step step, Value value) {
  std::vector<std::size_t> kept;
  if (end == 0) return kept;
  constexpr std::size_t kTogether = 8;
  const double range = step(end - 1) - step(0) + 1,
               blocks = static_cast<double>(end) / static_cast<double>(kTogether);
  const auto width = static_cast<double>(std::bit_ceil(
      static_cast<std::uint64_t>(std::clamp(range / std::max(blocks, 1.0), 1.0, 1e15))));
  const auto block_of = [&](std::size_t i) { return std::floor(step(i) / width); };
  for (std::size_t begin = 0; begin < end;) {
    std::size_t least = begin, greatest = begin, last = begin;
    for (std::size_t i = begin; i < end && block_of(i) == block_of(begin); ++i) {
      if (value(i) < value(least)) least = i;
      if (exceeds(value(i), value(greatest))) greatest = i;
      last = i;
    }
    for (std::size_t i = begin; i <= last; ++i)
      if (i == begin || i == least || i == greatest || i == last) kept.push_back(i);
    begin = last + 1;
  }
  return kept;
}

// Moves the elements with these indices to the front of `column`, and erases the other ones of the
// first `end` elements.
template <class Column>
void keep_indices(Column& column, const std::vector<std::size_t>& kept, std::size_t end) {
  for (std::size_t i = 0; i < kept.size(); ++i) column[i] = column[kept[i]];
  column.erase(column.begin() + static_cast<std::ptrdiff_t>(kept.size()),
               column.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace trainyard::telemetry
