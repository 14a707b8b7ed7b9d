// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/step_statistics.h"

#include <algorithm>
#include <iterator>

namespace trainyard::telemetry {

void StepStatistics::Steps::take(std::int32_t step, double seconds, int needed) {
  if (step <= removed_to) return;
  Step& reported = open[step];
  reported.seconds = std::max(reported.seconds, seconds);
  ++reported.reports;
  if (open.size() <= kOpenSteps) return;
  removed_to = open.begin()->first;
  if (open.begin()->second.reports >= needed) complete.push_back(open.begin()->second.seconds);
  open.erase(open.begin());
}

std::vector<double> StepStatistics::Steps::slowest(int needed) const {
  std::vector<double> times = complete;
  for (const auto& [number, step] : open)
    if (step.reports >= needed) times.push_back(step.seconds);
  return times;
}

void StepStatistics::take(std::int32_t step, double end, double duration) {
  add_interval(end - duration, end);
  times_.take(step, duration, needed_);
}

void StepStatistics::take_block(double first_begin, double last_end) {
  is_summarized_ = true;
  add_interval(first_begin, last_end);
}

void StepStatistics::take_samples(std::int32_t step) { samples_.take(step, 0, needed_); }

std::int64_t StepStatistics::steps() const {
  return static_cast<std::int64_t>((is_summarized_ ? samples_ : times_).slowest(needed_).size());
}

std::vector<double> StepStatistics::slowest() const { return times_.slowest(needed_); }

// Merges the interval with those that it overlaps.
void StepStatistics::add_interval(double from, double to) {
  begin_ = any_ ? std::min(begin_, from) : from;
  end_ = any_ ? std::max(end_, to) : to;
  any_ = true;
  if (any_closed_) from = std::max(from, closed_to_);
  if (!(from < to)) return;
  auto at = intervals_.upper_bound(from);
  if (at != intervals_.begin() && std::prev(at)->second >= from) --at;
  while (at != intervals_.end() && at->first <= to) {
    from = std::min(from, at->first);
    to = std::max(to, at->second);
    at = intervals_.erase(at);
  }
  intervals_.emplace(from, to);
  if (intervals_.size() > 2 * kOpenIntervals) close_old_intervals();
}

void StepStatistics::close_old_intervals() {
  while (intervals_.size() > kOpenIntervals) {
    const auto [from, to] = *intervals_.begin();
    closed_seconds_ += to - from;
    closed_to_ = to;
    any_closed_ = true;
    intervals_.erase(intervals_.begin());
  }
}

double StepStatistics::seconds_in_steps() const {
  double seconds = closed_seconds_;
  for (const auto& [from, to] : intervals_) seconds += to - from;
  return seconds;
}

}  // namespace trainyard::telemetry
