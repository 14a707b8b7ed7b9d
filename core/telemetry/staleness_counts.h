// SPDX-License-Identifier: GPL-3.0-or-later
// Staleness of a run's gradients, by worker: how many gradients had each staleness, and how many
// arrived too late. With parameter servers the first server reports it; with stages that update
// after every micro-batch, each stage reports its own.
#pragma once

#include <map>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

struct WorkerStaleness {
  int rank = 0;
  std::int64_t applied = 0, dropped = 0;        // Number of gradients.
  std::map<std::int64_t, std::int64_t> counts;  // Applied gradients by staleness.

  std::int64_t delayed() const;  // Number of applied gradients with staleness above 0.
  double mean() const;           // 0 if there are none.
  std::int64_t quantile(
      // Smallest staleness that at least the fraction `part` of the gradients does not exceed.
      double part) const;
  std::int64_t most() const;
};

// Returns the series of `metric` (staleness, dropped_gradients) that together contain every
// gradient once: the series of the first server, or the series of each rank about its own
// gradients.
std::vector<SeriesKey> gradient_series(const History& history, Metric metric);

class StalenessCounts {
 public:
  // Reads the history. Returns true if gradients were added since the last call. Must always be
  // called with the same history.
  bool read(const History& history);

  const std::vector<WorkerStaleness>& workers() const {
    return workers_;
  }  // Counts by rank, only of workers with gradients.
  WorkerStaleness all() const;

 private:
  WorkerStaleness& worker(int rank);

  std::vector<WorkerStaleness> workers_;
  std::map<SeriesKey, std::uint64_t> read_;  // Number of values read from each series.
};

}  // namespace trainyard::telemetry
