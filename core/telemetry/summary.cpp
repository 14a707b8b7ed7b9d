// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/base/whole_number.h"

namespace trainyard::telemetry {
namespace {

double sum(const Series* series) {
  return series == nullptr ? 0 : std::accumulate(series->values.begin(), series->values.end(), 0.0);
}

// Combines the series of a metric of a rank over all its indices (peers or segments). `fold(so far,
// series)` adds one series to the result.
template <class Fold>
double over_indices(const History& history, Metric metric, int rank, Fold fold) {
  double result = 0;
  auto at = history.series().lower_bound({metric, rank, 0});
  for (; at != history.series().end() && at->first.metric == metric && at->first.rank == rank; ++at)
    result = fold(result, at->second);
  return result;
}

// Returns the sum of the final counters of earlier processes of the rank (before restarts). Each
// process starts counting at 0.
double of_earlier_processes(const Series& series) {
  double sum = 0;
  for (std::size_t i = 1; i < series.values.size(); ++i)
    if (series.values[i] < series.values[i - 1]) sum += series.values[i - 1];
  return sum;
}

double before(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) {
    return so_far + of_earlier_processes(series);
  });
}

double total(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) {
    return so_far + of_earlier_processes(series) + series.values.back();
  });
}

double largest(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) {
    return std::max(so_far, *std::max_element(series.values.begin(), series.values.end()));
  });
}

double at_step(const Series& series, std::int32_t step) {
  const auto at = std::lower_bound(series.steps.begin(), series.steps.end(), step);
  return at != series.steps.end() && *at == step
             ? series.values[static_cast<std::size_t>(at - series.steps.begin())]
             : 0;
}

// Returns the number of samples in the steps of this rank whose gradients a server reports in
// `metric`.
double samples_of_gradients(const History& history, Metric metric, int rank) {
  const Series* samples = history.find({Metric::samples, rank, 0});
  double sum = 0;
  for (auto at = history.series().lower_bound({metric, 0, 0});
       at != history.series().end() && at->first.metric == metric; ++at)
    for (const std::int32_t step : at->second.steps)
      sum += samples != nullptr && at->first.index == rank ? at_step(*samples, step) : 0;
  return sum;
}

RankSummary summarize_rank(const History& history, int rank) {
  const double dropped = samples_of_gradients(history, Metric::dropped_gradients, rank),
               unapplied = samples_of_gradients(history, Metric::unapplied_gradients, rank);
  return {rank,
          sum(history.find({Metric::samples, rank, 0})) - dropped - unapplied,
          dropped,
          total(history, Metric::sent_payload_bytes, rank),
          total(history, Metric::sent_header_bytes, rank),
          total(history, Metric::received_payload_bytes, rank),
          total(history, Metric::received_header_bytes, rank),
          before(history, Metric::sent_payload_bytes, rank),
          before(history, Metric::sent_header_bytes, rank),
          before(history, Metric::received_payload_bytes, rank),
          before(history, Metric::received_header_bytes, rank),
          largest(history, Metric::memory_bytes, rank),
          total(history, Metric::dropped_events, rank)};
}

// Returns the time of the slowest rank for each step that every rank has finished.
std::vector<double> slowest_of_each_step(const History& history) {
  struct Step {
    double seconds = 0;
    int reports = 0;
  };
  std::map<std::int32_t, Step> steps;
  for (int rank = 0; rank < history.ranks(); ++rank) {
    const Series* series = history.find({Metric::step_seconds, rank, 0});
    for (std::size_t i = 0; series != nullptr && i < series->values.size(); ++i) {
      Step& step = steps[series->steps[i]];
      step.seconds = std::max(step.seconds, series->values[i]);
      ++step.reports;
    }
  }
  std::vector<double> times;
  for (const auto& [number, step] : steps)
    if (step.reports >= history.reports_of_step()) times.push_back(step.seconds);
  return times;
}

// Returns the time from the first step's begin to the last step's end. Each step's duration is
// logged at its end.
double wall_seconds(const History& history) {
  double begin = 0, end = 0;
  bool any = false;
  for (int rank = 0; rank < history.ranks(); ++rank) {
    const Series* series = history.find({Metric::step_seconds, rank, 0});
    if (series == nullptr) continue;
    const double from = series->seconds.front() - series->values.front();
    begin = any ? std::min(begin, from) : from;
    end = any ? std::max(end, series->seconds.back()) : series->seconds.back();
    any = true;
  }
  return end - begin;
}

// Returns the time in which at least one rank was in a step.
double seconds_in_steps(const History& history) {
  std::vector<std::pair<double, double>> steps;  // (begin, end) of each step
  for (int rank = 0; rank < history.ranks(); ++rank) {
    const Series* series = history.find({Metric::step_seconds, rank, 0});
    for (std::size_t i = 0; series != nullptr && i < series->values.size(); ++i)
      steps.emplace_back(series->seconds[i] - series->values[i], series->seconds[i]);
  }
  std::sort(steps.begin(), steps.end());
  double seconds = 0, end = -std::numeric_limits<double>::infinity();
  for (const auto& [from, to] : steps) {
    seconds += std::max(0.0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return seconds;
}

std::optional<double> last(const std::vector<StepValue>& values) {
  return values.empty() ? std::nullopt : std::optional(values.back().value);
}

}  // namespace

StepSeconds quantiles(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t count = times.size();
  const std::size_t nearest_rank = (95 * count + 99) / 100;
  return {(times[(count - 1) / 2] + times[count / 2]) / 2, times[nearest_rank - 1]};
}

bool is_asynchronous_gossip(const History& history) {
  const auto first = history.series().lower_bound({Metric::averages, 0, 0});
  return first != history.series().end() && first->first.metric == Metric::averages;
}

std::optional<std::int64_t> diverged_step(const History& history) {
  const auto& losses = history.train_loss();
  const auto first = std::ranges::find_if(
      losses, [](const StepValue& loss) { return !std::isfinite(loss.value); });
  return first == losses.end() ? std::nullopt : std::optional<std::int64_t>(first->step);
}

std::string divergence(std::int64_t step) {
  return fmt::format(
      "training diverged: from step {} on, the loss is not a finite number. Lower the "
      "learning rate, or clip gradients if the strategy supports it.",
      base::format_count(step));
}

std::string words(const Fault& fault) {
  const std::string subject =
      fault.link >= 0 ? fault.kind : fmt::format("rank {} {}", fault.rank, fault.kind);
  return fmt::format("{} at {}, step {}: {}", subject, base::format_seconds(fault.seconds),
                     base::format_count(fault.step), fault.text);
}

Fault fault_from(const base::Json& json) {
  base::Problems ignored;
  return read_fault(json, ignored);
}

std::string words(const BadGradients& bad) {
  const std::string first = fmt::format("rank {}, step {}, segment {}", bad.rank,
                                        base::format_count(bad.step), bad.segment);
  if (bad.skipped_updates == 0)
    return fmt::format("a gradient contains NaN or infinite numbers, first in {}.", first);
  return fmt::format(
      "{} {} skipped because gradients contained NaN or infinite numbers, first in {}.",
      base::counted(bad.skipped_updates, "update"), bad.skipped_updates == 1 ? "was" : "were",
      first);
}

std::optional<LossScale> loss_scale(const History& history) {
  const auto last_of = [&](Metric metric) {
    const Series* series = history.find({metric, 0, 0});
    return series == nullptr || series->values.empty() ? std::optional<double>()
                                                       : series->values.back();
  };
  const auto last = last_of(Metric::loss_scale);
  if (!last) return std::nullopt;
  return LossScale{*last, base::whole_number(last_of(Metric::skipped_updates).value_or(0))};
}

std::string words(const LossScale& scale) {
  const std::string last = fmt::format("the loss is multiplied by {}",
                                       base::format_count(base::whole_number(scale.last)));
  if (scale.steps_without_update == 0) return last;
  return fmt::format("{}; {} skipped the update while the scale was adapted", last,
                     base::counted(scale.steps_without_update, "step"));
}

Summary summarize(const History& history) {
  Summary summary;
  const auto times = slowest_of_each_step(history);
  summary.steps = static_cast<std::int64_t>(times.size());
  if (!times.empty()) summary.step_seconds = quantiles(times);
  summary.wall_seconds = wall_seconds(history);
  summary.train_loss = last(history.train_loss());
  summary.diverged_step = diverged_step(history);
  summary.bad_gradients = history.bad_gradients();
  summary.held_out_loss = last(history.held_out_loss());
  summary.held_out_accuracy = last(history.held_out_accuracy());
  for (int rank = 0; rank < history.ranks(); ++rank) {
    summary.ranks.push_back(summarize_rank(history, rank));
    summary.samples += summary.ranks.back().samples;
    summary.dropped_samples += summary.ranks.back().dropped_samples;
  }
  if (const double seconds = seconds_in_steps(history); seconds > 0)
    summary.samples_per_second = summary.samples / seconds;
  return summary;
}

}  // namespace trainyard::telemetry
