// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/step_statistics.h"

#include <algorithm>
#include <iterator>

namespace trainyard::telemetry {

StepStatistics::Step StepStatistics::Steps::take(std::int32_t step, double seconds) {
  if (step <= removed_to) return {};
  Step& reported = open[step];
  reported.seconds = std::max(reported.seconds, seconds);
  ++reported.reports;
  if (open.size() <= kOpenSteps) return {};
  const Step removed = open.begin()->second;
  removed_to = open.begin()->first;
  open.erase(open.begin());
  return removed;
}

std::int64_t StepStatistics::Steps::complete(int needed) const {
  return std::count_if(open.begin(), open.end(),
                       [&](const auto& step) { return step.second.reports >= needed; });
}

void StepStatistics::take(std::int32_t step, double end, double duration) {
  add_interval(end - duration, end);
  const Step removed = times_.take(step, duration);
  if (removed.reports > 0 && removed.reports >= needed_) removed_times_.push_back(removed.seconds);
}

void StepStatistics::take_block(double first_begin, double last_end) {
  is_summarized_ = true;
  add_interval(first_begin, last_end);
}

void StepStatistics::take_samples(std::int32_t step) {
  const Step removed = samples_.take(step, 0);
  if (removed.reports > 0 && removed.reports >= needed_) ++removed_samples_;
}

std::int64_t StepStatistics::steps() const {
  return is_summarized_
             ? removed_samples_ + samples_.complete(needed_)
             : static_cast<std::int64_t>(removed_times_.size()) + times_.complete(needed_);
}

std::vector<double> StepStatistics::slowest() const {
  std::vector<double> times = removed_times_;
  for (const auto& [number, step] : times_.open)
    if (step.reports >= needed_) times.push_back(step.seconds);
  return times;
}

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
