// SPDX-License-Identifier: GPL-3.0-or-later
// Meter of recent traffic between ranks by payload kind, computed from recorded ops. The end and
// the bytes of each op are measured; the payload kind is derived from the op's name. Each message
// is counted once: at its sender, or, if its peer is a server, at the worker.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "core/telemetry/history.h"
#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

class TrafficMeter {
 public:
  // Reads the ops that were added to the history since the last call. `names` supplies the names of
  // ops; it must already have read these ops. No op is missed if this is called after each frame
  // that the history reads.
  void read(const telemetry::History& history, const SpanStore& names);

  // Returns the bytes that one rank sent to another after `since` and up to `until`. Both times are
  // in seconds of the recording, with a resolution of 4 ms. Only the last minute is available.
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
