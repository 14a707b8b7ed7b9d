// SPDX-License-Identifier: GPL-3.0-or-later
// Tells now and then how much of a rank's buffers is in memory, by what they are for, what its
// process takes, and what its device says of itself.
#pragma once

#include <cstdint>

#include "core/run/bound_plan.h"
#include "core/telemetry/event_ring.h"

namespace trainyard::run {

class MemoryMeter {
 public:
  // `events` may be null: then nothing is said. Without a process of its own what that takes is not
  // told.
  MemoryMeter(telemetry::EventRing* events, const BoundPlan& bound, bool own_process);

  // As of `step` at `now_ns`, where it is time again: the first time at once, then twice a second,
  // and more seldom where looking takes long.
  void tell_at_times(std::int64_t step, std::int64_t now_ns);
  void tell(std::int64_t step, std::int64_t now_ns);

 private:
  void tell_device(std::int64_t step, std::int64_t now_ns);
  void metric(telemetry::Metric metric, std::int64_t step, std::int64_t now_ns, double value,
              int index = 0);

  telemetry::EventRing* events_;
  const BoundPlan& bound_;
  bool own_process_;
  std::int64_t next_ns_ = 0;  // when to look again
};

// Resident set of this process, from /proc/self/statm; 0 where that cannot be read.
std::int64_t resident_bytes();

}  // namespace trainyard::run
