// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics of the times of steps, computed as ranks report them. The memory that they need for
// each step is one number. A report of a step counts only if at most kOpenSteps later steps were
// reported before it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace trainyard::telemetry {

class StepStatistics {
 public:
  // Sets the number of ranks that report a step. Must precede all reports.
  void set_needed(int reports) { needed_ = reports; }
  // Takes a rank's report of a step: its end and its duration, in seconds.
  void take(std::int32_t step, double end, double duration);
  // Adds the summary of consecutive steps of a rank. A pause between two steps counts as step time.
  void take_block(double first_begin, double last_end);
  // Takes a rank's report of its samples of a step.
  void take_samples(std::int32_t step);

  // Number of steps that all ranks have reported. If reports of times were merged into summaries,
  // counts the reports of samples instead (take_samples).
  std::int64_t steps() const;
  // Times of the slowest rank of each of these steps, in no particular order, without steps whose
  // reports were summarized.
  std::vector<double> slowest() const;
  // Time from the start of the first step to the end of the last.
  double wall_seconds() const { return any_ ? end_ - begin_ : 0; }
  // Time in which at least one rank was in a step.
  double seconds_in_steps() const;

  // Steps whose reports may still arrive, and intervals between pauses, that are kept one by one.
  static constexpr std::size_t kOpenSteps = 16'384, kOpenIntervals = 4'096;

 private:
  // Collects the reports of steps, and removes old steps.
  struct Step {
    double seconds = 0;
    int reports = 0;
  };
  struct Steps {
    std::map<std::int32_t, Step> open;
    std::int32_t removed_to = -2;

    // Adds a report. Returns the step that was removed; without reports if none was.
    Step take(std::int32_t step, double seconds);
    std::int64_t complete(int needed) const;
  };
  void add_interval(double from, double to);
  void close_old_intervals();

  int needed_ = 1;
  Steps times_, samples_;
  std::vector<double> removed_times_;  // Of removed steps that all ranks had reported.
  std::int64_t removed_samples_ = 0;   // Number of such steps.
  bool is_summarized_ = false;
  bool any_ = false;
  double begin_ = 0, end_ = 0;
  std::map<double, double> intervals_;  // Disjoint intervals: end by begin.
  double closed_seconds_ = 0;           // Length of older intervals.
  double closed_to_ = 0;
  bool any_closed_ = false;
};

}  // namespace trainyard::telemetry
