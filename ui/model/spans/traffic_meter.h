// SPDX-License-Identifier: GPL-3.0-or-later
// Meter of recent traffic between ranks by payload kind, from recorded ops: when each ended and how
// many bytes it moved. The kind follows from the op's name; the time and bytes are measured. Each
// message is counted once: at its sender, or, for servers, at the worker.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "core/telemetry/history.h"
#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

class TrafficMeter {
 public:
  // Reads what was recorded since the last call. `names` supplies the names of ops and must have
  // read as much of the history. Nothing is missed if it is called after every frame.
  void read(const telemetry::History& history, const SpanStore& names);

  // Returns the bytes sent from one rank to another after `since` and up to `until`, in seconds as
  // in a series, with a resolution of 4 ms. Covers the last minute only.
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
