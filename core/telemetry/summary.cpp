// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/base/whole_number.h"

namespace trainyard::telemetry {
namespace {

double sum(const Series* series) { return series == nullptr ? 0 : series->totals.sum; }

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
double before(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) {
    return so_far + series.totals.before_resets;
  });
}

double total(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) {
    return so_far + series.totals.before_resets + series.totals.last;
  });
}

double largest(const History& history, Metric metric, int rank) {
  return over_indices(history, metric, rank, [](double so_far, const Series& series) {
    return std::max(so_far, series.totals.greatest);
  });
}

RankSummary summarize_rank(const History& history, int rank) {
  const double dropped = history.samples_of_gradients(Metric::dropped_gradients, rank),
               unapplied = history.samples_of_gradients(Metric::unapplied_gradients, rank);
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

std::optional<double> last(const StepValues& values) {
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

std::string thinning_text(const RecordedThinning& thinning) {
  return fmt::format(
      "thinned from step {} on, except for the last steps: it has the ops of one step in {} ({} "
      "were dropped) and summaries of times; loss, gradient norms, samples and totals are complete",
      base::format_count(thinning.from_step), base::format_count(thinning.interval_steps),
      base::counted(thinning.dropped_ops, "op"));
}

std::string divergence(std::int64_t step) {
  return fmt::format(
      "training diverged: from step {} on, the loss is not a finite number. Lower the "
      "learning rate, or clip gradients if the strategy supports it.",
      base::format_count(step));
}

std::string words(const Fault& fault) {
  const std::string event = fault.kind == "lost"   ? "failed"
                            : fault.kind == "back" ? "rejoined"
                                                   : fault.kind;
  const std::string subject =
      fault.link >= 0 ? event : fmt::format("rank {} {}", fault.rank, event);
  return fmt::format("{} at {}, step {}: {}", subject, base::format_seconds(fault.seconds),
                     base::format_count(fault.step), fault.text);
}

Fault fault_from(const base::Json& json) {
  base::Problems ignored;
  return read_fault(json, ignored);
}

std::string words(const BadGradients& bad) {
  const std::string first = fmt::format("rank {}, step {}, layer {}", bad.rank,
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
  const StepStatistics& steps = history.step_statistics();
  const auto times = steps.slowest();
  summary.steps = steps.steps();
  if (!times.empty()) summary.step_seconds = quantiles(times);
  summary.wall_seconds = steps.wall_seconds();
  summary.train_loss = last(history.train_loss());
  summary.diverged_step = history.diverged_step();
  summary.bad_gradients = history.bad_gradients();
  summary.held_out_loss = last(history.held_out_loss());
  summary.held_out_accuracy = last(history.held_out_accuracy());
  for (int rank = 0; rank < history.ranks(); ++rank) {
    summary.ranks.push_back(summarize_rank(history, rank));
    summary.samples += summary.ranks.back().samples;
    summary.dropped_samples += summary.ranks.back().dropped_samples;
  }
  if (const double seconds = steps.seconds_in_steps(); seconds > 0)
    summary.samples_per_second = summary.samples / seconds;
  return summary;
}

}  // namespace trainyard::telemetry
