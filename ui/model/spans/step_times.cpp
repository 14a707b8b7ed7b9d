// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/step_times.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

constexpr Nanoseconds kRounded =
    2;  // ns; a step's begin is computed from its end and duration, both rounded to 1 ns

const telemetry::Series* reports_of(const telemetry::History& history, int rank) {
  return history.find({telemetry::Metric::step_seconds, rank, 0});
}

// Returns the start and end of a reported step. A rank reports a step at the step's end, together
// with its duration.
TimeRange range_of(const telemetry::Series& reports, std::size_t i) {
  const auto ns = [](double seconds) { return std::llround(std::clamp(seconds, -4e9, 4e9) * 1e9); };
  const Nanoseconds end = ns(reports.seconds[i]),
                    took = std::isfinite(reports.values[i])
                               ? std::max<Nanoseconds>(ns(reports.values[i]), 0)
                               : 0;
  return {end - took, end};
}

}  // namespace

bool StepTimes::read(const telemetry::History& history, std::size_t reports) {
  read_.resize(static_cast<std::size_t>(std::max(history.ranks(), 0)));
  const std::size_t each = read_.empty() ? 0 : std::max<std::size_t>(reports / read_.size(), 1);
  bool more = false;
  for (std::size_t rank = 0; rank < read_.size(); ++rank) {
    const telemetry::Series* series = reports_of(history, static_cast<int>(rank));
    if (!series) continue;
    std::size_t i = read_[rank].next(*series);
    for (const std::size_t end = std::min(series->size(), i + each); i < end; ++i) {
      take(series->steps[i], range_of(*series, i));
      read_[rank].read(*series, i);
    }
    more = more || i < series->size();
  }
  if (steps_.size() > kMaxSteps) steps_.erase(steps_.begin(), steps_.end() - kMaxSteps / 2);
  return more;
}

// Adds the start and end that one rank reports for a step. If another rank has already reported the
// step, the step's range is extended.
void StepTimes::take(std::int32_t step, const TimeRange& range) {
  const auto at = std::partition_point(steps_.begin(), steps_.end(),
                                       [step](const StepTime& known) { return known.step < step; });
  if (at == steps_.end() || at->step != step) {
    steps_.insert(at, {step, range});
  } else {
    at->range = {std::min(at->range.begin, range.begin), std::max(at->range.end, range.end)};
  }
}

const StepTime* StepTimes::find(std::int32_t step) const {
  const auto at = std::partition_point(steps_.begin(), steps_.end(),
                                       [step](const StepTime& known) { return known.step < step; });
  return at != steps_.end() && at->step == step ? &*at : nullptr;
}

std::size_t StepTimes::first_ending_after(Nanoseconds time) const {
  const auto at = std::partition_point(steps_.begin(), steps_.end(), [time](const StepTime& known) {
    return known.range.end <= time;
  });
  return static_cast<std::size_t>(at - steps_.begin());
}

std::optional<TimeRange> step_of_rank(const telemetry::History& history, int rank,
                                      std::int32_t step) {
  const telemetry::Series* series = reports_of(history, rank);
  if (!series) return {};
  const auto at = std::ranges::lower_bound(series->steps, step);
  if (at == series->steps.end() || *at != step) return {};
  return range_of(*series, static_cast<std::size_t>(at - series->steps.begin()));
}

std::vector<TimeRange> clip_to_steps(const telemetry::History& history, int rank,
                                     const TimeRange& range) {
  std::vector<TimeRange> times;
  const telemetry::Series* series = reports_of(history, rank);
  if (!series) return times;
  const double from = static_cast<double>(range.begin) * 1e-9;
  for (auto i = static_cast<std::size_t>(std::ranges::lower_bound(series->seconds, from) -
                                         series->seconds.begin());
       i < series->seconds.size(); ++i) {
    const TimeRange step = range_of(*series, i),
                    seen{std::max(step.begin, range.begin), std::min(step.end, range.end)};
    if (step.begin >= range.end) break;
    if (!times.empty() && seen.begin <= times.back().end + kRounded)
      times.back().end = std::max(times.back().end, seen.end);
    else if (seen.width() > 0) times.push_back(seen);
  }
  return times;
}

}  // namespace trainyard::ui
