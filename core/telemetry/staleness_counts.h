// SPDX-License-Identifier: GPL-3.0-or-later
// How stale the gradients of a run were, worker by worker: how many of each staleness, and how many
// came too late. With parameter servers as the first of them saw them; of stages that update after
// every micro-batch as each tells of its own.
#pragma once

#include <map>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

struct WorkerStaleness {
  int rank = 0;
  std::int64_t applied = 0, dropped = 0;        // gradients
  std::map<std::int64_t, std::int64_t> counts;  // by staleness: of those that were applied

  std::int64_t delayed() const;  // applied, but not to the parameters that they were computed by
  double mean() const;           // 0 where there are none
  std::int64_t quantile(
      double part) const;  // the least staleness that so great a part of them does not pass
  std::int64_t most() const;
};

// Of `metric` (staleness, dropped_gradients) the series that tell of every gradient once: of the
// first server, or of each rank about itself.
std::vector<SeriesKey> gradient_series(const History& history, Metric metric);

class StalenessCounts {
 public:
  // What came since the last call; whether anything did. Always of one history, which only grows.
  bool read(const History& history);

  const std::vector<WorkerStaleness>& workers() const {
    return workers_;
  }  // by rank; those that a gradient came from
  WorkerStaleness all() const;

 private:
  WorkerStaleness& worker(int rank);

  std::vector<WorkerStaleness> workers_;
  std::map<SeriesKey, std::size_t> read_;  // values of each
};

}  // namespace trainyard::telemetry
