// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/staleness_counts.h"

#include <algorithm>
#include <cmath>

namespace trainyard::telemetry {

std::int64_t WorkerStaleness::delayed() const {
  const auto fresh = counts.find(0);
  return applied - (fresh == counts.end() ? 0 : fresh->second);
}

double WorkerStaleness::mean() const {
  double sum = 0;
  for (const auto& [staleness, count] : counts)
    sum += static_cast<double>(staleness) * static_cast<double>(count);
  return applied > 0 ? sum / static_cast<double>(applied) : 0;
}

std::int64_t WorkerStaleness::quantile(double part) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(applied)));
  std::int64_t passed = 0;
  for (const auto& [staleness, count] : counts)
    if ((passed += count) >= wanted) return staleness;
  return 0;
}

std::int64_t WorkerStaleness::most() const { return counts.empty() ? 0 : counts.rbegin()->first; }

std::vector<SeriesKey> gradient_series(const History& history, Metric metric) {
  std::vector<SeriesKey> keys;
  const auto first = history.series().lower_bound({metric, 0, 0});
  for (auto at = first; at != history.series().end() && at->first.metric == metric; ++at)
    if (at->first.rank == first->first.rank || at->first.rank == at->first.index)
      keys.push_back(at->first);
  return keys;
}

WorkerStaleness& StalenessCounts::worker(int rank) {
  const auto at =
      std::lower_bound(workers_.begin(), workers_.end(), rank,
                       [](const WorkerStaleness& one, int wanted) { return one.rank < wanted; });
  if (at != workers_.end() && at->rank == rank) return *at;
  WorkerStaleness made;
  made.rank = rank;
  return *workers_.insert(at, made);
}

// Reads the gradients of the first server only, if there are servers, because servers receive
// gradients in different orders.
bool StalenessCounts::read(const History& history) {
  bool any = false;
  for (const Metric metric : {Metric::staleness, Metric::dropped_gradients})
    for (const SeriesKey& key : gradient_series(history, metric)) {
      std::uint64_t& known = read_[key];
      const SeriesTotals& totals = history.series().at(key).totals;
      if (known == totals.count) continue;
      any = true;
      known = totals.count;
      WorkerStaleness& of = worker(key.index);
      if (metric == Metric::dropped_gradients) {
        of.dropped = std::llround(totals.last);
      } else {
        of.applied = static_cast<std::int64_t>(totals.count);
        of.counts = history.staleness_counts(key);
      }
    }
  return any;
}

WorkerStaleness StalenessCounts::all() const {
  WorkerStaleness sum;
  sum.rank = -1;
  for (const WorkerStaleness& one : workers_) {
    sum.applied += one.applied, sum.dropped += one.dropped;
    for (const auto& [staleness, count] : one.counts) sum.counts[staleness] += count;
  }
  return sum;
}

}  // namespace trainyard::telemetry
