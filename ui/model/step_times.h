// SPDX-License-Identifier: GPL-3.0-or-later
// When steps began and ended, as ranks reported it (step_seconds): for the ruler of a timeline.
#pragma once

#include <vector>

#include "core/telemetry/history.h"
#include "ui/model/op_span.h"

namespace trainyard::ui {

// From the first rank's begin to the last rank's end, of those that reported it.
struct StepTime {
  std::int32_t step = 0;
  TimeRange range;
};

class StepTimes {
 public:
  // At most so many reports. Says whether there is more to read.
  bool read(const telemetry::History& history, std::size_t reports = 1 << 16);
  const std::vector<StepTime>& steps() const { return steps_; }  // by step, and so by end
  const StepTime* find(std::int32_t step) const;                 // null when nobody reported it
  // The first that ends after `time`; one past the last when none does.
  std::size_t first_ending_after(Nanoseconds time) const;

 private:
  void take(std::int32_t step, const TimeRange& range);
  std::vector<StepTime> steps_;
  std::vector<std::size_t> read_;  // by rank
};

// Of one rank alone.
std::optional<TimeRange> step_of_rank(const telemetry::History& history, int rank,
                                      std::int32_t step);
// What of `range` lies within its steps, in order: no pace, no pause and no evaluation between them
// is in it.
std::vector<TimeRange> within_steps(const telemetry::History& history, int rank,
                                    const TimeRange& range);

}  // namespace trainyard::ui
