// SPDX-License-Identifier: GPL-3.0-or-later
// Meter of recent traffic between ranks by payload kind. It uses recorded ops: when each op ended
// and how many bytes it moved are measured, and the payload kind is derived from the op's name.
// Each message is counted once: at its sender, or, for servers, at the worker.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "core/telemetry/history.h"
#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

class TrafficMeter {
 public:
  // Reads what was recorded since the last call. `names` supplies the names of ops; it must have
  // read at least the same part of the history before. If `read` is called after every frame, it
  // misses nothing.
  void read(const telemetry::History& history, const SpanStore& names);

  // Returns the bytes sent from one rank to another after `since` and up to `until`. Both are times
  // in seconds as in a series, with a resolution of 4 ms. Only the last minute is available.
  std::map<PayloadKind, double> sent(int from, int to, double since, double until) const;

 private:
  struct Sent {
    double until = 0, bytes = 0;
  };
  void take(const telemetry::OpRecord& record, const RankNames& names);

  std::map<std::pair<int, int>, std::map<PayloadKind, std::deque<Sent>>> sent_;  // by (from, to)
  std::uint64_t read_ = 0;  // number of ops read from the history
};

}  // namespace trainyard::ui
