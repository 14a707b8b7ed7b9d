// SPDX-License-Identifier: GPL-3.0-or-later
// Forwards all events of a simulation to a callback, and computes their fingerprint.
#pragma once

#include <functional>
#include <string>

#include "core/sim/account.h"
#include "core/telemetry/event.h"

namespace trainyard::sim {

class EventSink {
 public:
  using Listener = std::function<void(int rank, const telemetry::Event&)>;
  explicit EventSink(Listener listener) : listener_(std::move(listener)) {}

  void write(int rank, const telemetry::Event& event);
  void op(int rank, int program, int op, std::int64_t step, Picoseconds begin, Picoseconds ready,
          Picoseconds end, std::int64_t bytes);
  void metric(int rank, telemetry::Metric metric, std::int64_t step, Picoseconds now, double value,
              int index = 0);

  // Returns the fingerprint of all events. For each event it is updated to the xxh64 hash of
  // (fingerprint so far, rank, event), in little-endian byte order.
  std::string fingerprint() const;

 private:
  Listener listener_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace trainyard::sim
