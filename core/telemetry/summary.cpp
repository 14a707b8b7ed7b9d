// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/base/units.h"

namespace trainyard::telemetry {
namespace {

double sum(const Series* series) { return series == nullptr ? 0 : std::accumulate(series->values.begin(), series->values.end(), 0.0); }

// A rank has a series of a metric for each index (peer, segment): `fold(so far, series)` over them.
template <class Fold>
double over_indices(const History& history, Metric metric, int rank, Fold fold) {
  double result = 0;
  auto at = history.series().lower_bound({metric, rank, 0});
  for (; at != history.series().end() && at->first.metric == metric && at->first.rank == rank; ++at) result = fold(result, at->second);
  return result;
}

double total(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) { return so_far + series.values.back(); });
}

double largest(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank,
                      [](double so_far, const Series& series) { return std::max(so_far, *std::max_element(series.values.begin(), series.values.end())); });
}

RankSummary summarize_rank(const History& history, int rank) {
  return {rank,
          sum(history.find({Metric::samples, rank, 0})),
          total(history, Metric::sent_payload_bytes, rank),
          total(history, Metric::sent_header_bytes, rank),
          total(history, Metric::received_payload_bytes, rank),
          total(history, Metric::received_header_bytes, rank),
          largest(history, Metric::memory_bytes, rank),
          total(history, Metric::dropped_events, rank)};
}

// The times of steps that every rank has finished: of the slowest rank.
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

// A step's time is logged at its end.
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

double samples_per_second(const History& history) {
  double rate = 0;
  for (int rank = 0; rank < history.ranks(); ++rank) {
    const double seconds = sum(history.find({Metric::step_seconds, rank, 0}));
    if (seconds > 0) rate += sum(history.find({Metric::samples, rank, 0})) / seconds;
  }
  return rate;
}

std::optional<double> last(const std::vector<StepValue>& values) { return values.empty() ? std::nullopt : std::optional(values.back().value); }

}  // namespace

StepSeconds quantiles(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t count = times.size();
  const std::size_t nearest_rank = (95 * count + 99) / 100;
  return {(times[(count - 1) / 2] + times[count / 2]) / 2, times[nearest_rank - 1]};
}

std::optional<std::int64_t> diverged_step(const History& history) {
  const auto& losses = history.train_loss();
  const auto first = std::ranges::find_if(losses, [](const StepValue& loss) { return !std::isfinite(loss.value); });
  return first == losses.end() ? std::nullopt : std::optional<std::int64_t>(first->step);
}

std::string divergence(std::int64_t step) {
  return "training diverged: from step " + base::format_count(step) + " on the loss is not a finite number. Lower the learning rate, or clip gradients.";
}

std::string words(const BadGradients& bad) {
  const std::string first = "rank " + std::to_string(bad.rank) + ", step " + base::format_count(bad.step) + ", segment " + bad.segment;
  if (bad.skipped_updates == 0) return "a gradient holds NaN or infinite numbers: first of " + first + ".";
  return base::format_count(bad.skipped_updates) + (bad.skipped_updates == 1 ? " update was" : " updates were") +
         " skipped, as gradients held NaN or infinite numbers: first of " + first + ".";
}

Summary summarize(const History& history) {
  Summary summary;
  const auto times = slowest_of_each_step(history);
  summary.steps = static_cast<std::int64_t>(times.size());
  if (!times.empty()) summary.step_seconds = quantiles(times);
  summary.wall_seconds = wall_seconds(history);
  summary.samples_per_second = samples_per_second(history);
  summary.train_loss = last(history.train_loss());
  summary.diverged_step = diverged_step(history);
  summary.bad_gradients = history.bad_gradients();
  summary.held_out_loss = last(history.held_out_loss());
  summary.held_out_accuracy = last(history.held_out_accuracy());
  for (int rank = 0; rank < history.ranks(); ++rank) {
    summary.ranks.push_back(summarize_rank(history, rank));
    summary.samples += summary.ranks.back().samples;
  }
  return summary;
}

}  // namespace trainyard::telemetry
