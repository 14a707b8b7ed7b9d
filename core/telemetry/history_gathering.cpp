// SPDX-License-Identifier: GPL-3.0-or-later
// Collects the reports of all ranks about a step, and publishes loss and accuracy of complete
// steps.
#include <algorithm>
#include <cmath>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {
namespace {

// Returns the last step that has a value; -1 if there is none.
std::int32_t last_published_step(const StepValues& losses, const StepValues& accuracies) {
  return static_cast<std::int32_t>(std::max(losses.empty() ? -1 : losses.back().step,
                                            accuracies.empty() ? -1 : accuracies.back().step));
}

}  // namespace

void History::Reports::add(const Reports& other) {
  for (const auto& [sum, part] :
       {std::pair(&loss, &other.loss), std::pair(&correct, &other.correct),
        std::pair(&samples, &other.samples)})
    sum->total += part->total, sum->reports += part->reports;
}

History::Reports History::Candidates::counted() const {
  Reports sum;
  for (const auto& [rank, reports] : of_rank)
    if (applied.contains(rank)) sum.add(reports);
  return sum;
}

// Collects the report of a rank, or, for Metric::staleness, that its gradient was applied. The step
// is complete once all ranks whose gradients were applied have reported.
void History::Gathering::take_candidate(int rank, const Event& event, Metric metric,
                                        double seconds) {
  if (event.step <= last_published_step(losses, accuracies) || ahead.contains(event.step)) return;
  Candidates& step = candidates[event.step];
  if (metric == Metric::staleness) step.applied.insert(rank);
  else if (metric == loss) step.of_rank[rank].loss.add(event.value);
  else if (metric == correct) step.of_rank[rank].correct.add(event.value);
  else if (metric == samples) step.of_rank[rank].samples.add(event.value);
  else return;
  const Reports sum = step.counted();
  if (sum.samples.reports < needed) return;
  ahead[event.step] = {seconds, sum};
  candidates.erase(event.step);
  publish_ready(kept_ahead);
  // late reports of published steps are ignored, so their candidates are no longer needed
  candidates.erase(candidates.begin(),
                   candidates.upper_bound(last_published_step(losses, accuracies)));
}

void History::Gathering::take(int rank, const Event& event, Metric metric, double seconds) {
  if (only_applied) {
    if (metric == loss || metric == correct || metric == samples)
      take_candidate(rank, event, metric, seconds);
    return;
  }
  // ignores late reports: the step was published already, without the reports that were missing
  if (stride > 0 && event.step <= last_published_step(losses, accuracies)) return;
  if (metric == loss) {
    open[event.step].loss.add(event.value);
  } else if (metric == correct) {
    open[event.step].correct.add(event.value);
  } else if (metric == samples) {
    Sum& sum = open[event.step].samples;
    sum.add(event.value);
    if (sum.reports == needed) finish(event.step, seconds);
  }
}

// Publishes a step that all ranks have reported. Ranks that execute steps together report them in
// order. So if an earlier step is still incomplete, one of its reports was lost, and the step is
// dropped.
void History::Gathering::finish(std::int32_t step, double seconds) {
  const auto at = open.find(step);
  if (stride == 0) {
    tell(step, seconds, at->second);
    open.erase(open.begin(), std::next(at));
    return;
  }
  ahead[step] = {seconds, at->second};
  open.erase(at);
  publish_ready(kept_ahead);
}

// Publishes complete steps that directly follow the published ones. If more than `kept` complete
// steps wait for a missing one, publishes the first of them. An evaluation after the last step may
// have a step number between two regular step numbers.
void History::Gathering::publish_ready(std::size_t kept) {
  while (!ahead.empty() && (ahead.begin()->first <= next || ahead.size() > kept)) {
    const auto& [step, whole] = *ahead.begin();
    published_seconds = std::max(published_seconds, whole.seconds);
    // drops a step that became complete too late, because its missing reports already counted as
    // lost
    if (step > last_published_step(losses, accuracies))
      tell(step, published_seconds, whole.reports);
    next = std::max(next, ((step + 1) / stride + 1) * stride - 1);
    ahead.erase(ahead.begin());
  }
}

void History::Gathering::tell(std::int32_t step, double seconds, const Reports& all) {
  if (all.samples.total <= 0) return;
  const double before = trained.empty() ? 0 : trained.back().value;
  trained.push_back({step, seconds, before + all.samples.total});
  if (all.loss.reports == needed) {
    losses.push_back({step, seconds, all.loss.total / all.samples.total});
    if (!diverged_step && !std::isfinite(losses.back().value)) diverged_step = step;
  }
  if (all.correct.reports == needed)
    accuracies.push_back({step, seconds, all.correct.total / all.samples.total});
}

}  // namespace trainyard::telemetry
