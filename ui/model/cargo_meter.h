// SPDX-License-Identifier: GPL-3.0-or-later
// What of each kind ranks have sent each other lately: by the recorded ops that sent it, when they
// were done and how many bytes those moved. What of it an op carries is a matter of its name; that
// it ran, and with how much, is measured. A message is counted once, where it was sent, or of
// servers at the worker.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "core/telemetry/history.h"
#include "ui/model/span_store.h"

namespace trainyard::ui {

class CargoMeter {
 public:
  // Takes what has come since the last call; ops by the names that the store, which has read as
  // much, has for them. Called often enough (after every frame) it misses nothing.
  void read(const telemetry::History& history, const SpanStore& names);

  // Bytes that went from one rank to another from after `since` until `until`, seconds as in a
  // series, to within 4 ms; of the last minute.
  std::map<Cargo, double> sent(int from, int to, double since, double until) const;

 private:
  struct Sent {
    double until = 0, bytes = 0;
  };
  void take(const telemetry::OpRecord& record, const RankNames& names);

  std::map<std::pair<int, int>, std::map<Cargo, std::deque<Sent>>> sent_;  // from, to
  std::uint64_t read_ = 0;                                                 // ops of the history
};

}  // namespace trainyard::ui
