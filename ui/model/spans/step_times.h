// SPDX-License-Identifier: GPL-3.0-or-later
// Begin and end of steps, for the ruler of a timeline. They are computed from the reports of ranks
// (`step_seconds`).
#pragma once

#include <vector>

#include "core/telemetry/history.h"
#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

// Begin and end of a step: from the earliest begin to the latest end on all ranks that have
// reported the step.
struct StepTime {
  std::int32_t step = 0;
  TimeRange range;
};

class StepTimes {
 public:
  // Reads at most `reports` reports of ranks. Returns true if there are more to read.
  bool read(const telemetry::History& history, std::size_t reports = 1 << 16);
  // Returns the last known steps in order, which is also the order of their ends. Older steps are
  // removed if there are more than kMaxSteps.
  const std::vector<StepTime>& steps() const { return steps_; }
  // Returns the times of a step; null if no rank has reported it.
  const StepTime* find(std::int32_t step) const;
  // Returns the index in `steps` of the first step that ends after `time`, or the size of `steps`
  // if there is none.
  std::size_t first_ending_after(Nanoseconds time) const;

 private:
  void take(std::int32_t step, const TimeRange& range);
  static constexpr std::size_t kMaxSteps = 1 << 17;
  std::vector<StepTime> steps_;
  std::vector<telemetry::ReadPosition> read_;  // by rank
};

// Returns the start and end of a step on one rank.
std::optional<TimeRange> step_of_rank(const telemetry::History& history, int rank,
                                      std::int32_t step);
// Returns the parts of `range` in which the rank executed steps, in order. Pacing, pauses and
// evaluation between steps are excluded.
std::vector<TimeRange> clip_to_steps(const telemetry::History& history, int rank,
                                     const TimeRange& range);

}  // namespace trainyard::ui
