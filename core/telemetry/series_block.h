// SPDX-License-Identifier: GPL-3.0-or-later
// Summary of consecutive values of one series. It has the first, the least, the greatest and the
// last value, each with its step and time, and exact totals. Old values of a long run are stored
// this way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/event.h"

namespace trainyard::telemetry {

struct LoggedValue {
  std::int64_t time_ns = 0;
  double value = 0;
  std::int32_t step = 0;
  std::int32_t padding = 0;
};

struct SeriesBlock {
  std::int32_t rank = 0;
  std::uint16_t metric = 0, index = 0;
  std::uint64_t count = 0;  // Number of values.
  double sum = 0;
  // Sum of the values before which a running total started again from 0.
  double before_resets = 0;
  LoggedValue first, least, greatest, last;

  // Adds the next value of the series.
  void add(const Event& event);
  // Returns the distinct ones of the four values, in the order of the series.
  std::vector<LoggedValue> points() const;
};
static_assert(sizeof(SeriesBlock) == 128);

// Totals of all values of a series, including those that are no longer stored one by one.
struct SeriesTotals {
  std::uint64_t count = 0;
  double sum = 0;
  double least = 0, greatest = 0, last = 0;  // 0 if there is no value.
  // For a running total: sum of the values before which it started again from 0, because the rank's
  // process was replaced.
  double before_resets = 0;
  // Sum of 1 / value, for harmonic means of metrics that are never summarized.
  double sum_of_inverses = 0;

  void add(double value);
  void add(const SeriesBlock& block);
};

// True if `a` is greater than `b`. NaN counts as greater than every number, so that a summary of
// values never hides it.
bool exceeds(double a, double b);

// Encode and decode the payload of a `blocks` frame.
std::vector<std::byte> pack_blocks(std::span<const SeriesBlock> blocks);
base::Result<std::vector<SeriesBlock>> unpack_blocks(std::span<const std::byte> payload);

}  // namespace trainyard::telemetry
