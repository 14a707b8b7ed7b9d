// SPDX-License-Identifier: GPL-3.0-or-later
// Begin and end of steps as reported by ranks (`step_seconds`), for the ruler of a timeline.
#pragma once

#include <vector>

#include "core/telemetry/history.h"
#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

// Range of a step, from the first rank's begin to the last rank's end. Only ranks that reported the
// step count.
struct StepTime {
  std::int32_t step = 0;
  TimeRange range;
};

class StepTimes {
 public:
  // Reads at most `reports` reports. Returns true if there is more to read.
  bool read(const telemetry::History& history, std::size_t reports = 1 << 16);
  // sorted by step, and therefore by end
  const std::vector<StepTime>& steps() const { return steps_; }
  // null if no rank reported the step
  const StepTime* find(std::int32_t step) const;
  // Returns the first step that ends after `time`, or the number of steps if there is none.
  std::size_t first_ending_after(Nanoseconds time) const;

 private:
  void take(std::int32_t step, const TimeRange& range);
  std::vector<StepTime> steps_;
  std::vector<std::size_t> read_;  // number of reports read, by rank
};

// Returns the range of a step on one rank.
std::optional<TimeRange> step_of_rank(const telemetry::History& history, int rank,
                                      std::int32_t step);
// Returns the parts of `range` that are inside steps, in order. Pacing, pauses and evaluation
// between steps are excluded.
std::vector<TimeRange> clip_to_steps(const telemetry::History& history, int rank,
                                     const TimeRange& range);

}  // namespace trainyard::ui
