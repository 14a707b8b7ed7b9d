// SPDX-License-Identifier: GPL-3.0-or-later
// Periodically reports how much of a rank's buffers is resident, by purpose, and the memory of its
// process and of its device.
#pragma once

#include <cstdint>

#include "core/run/bind/bound_plan.h"
#include "core/telemetry/event_ring.h"

namespace trainyard::run {

class MemoryMeter {
 public:
  // `events`: destination of reports; null: no reports. Without `is_own_process`, process memory is
  // not reported.
  MemoryMeter(telemetry::EventRing* events, const BoundPlan& bound, bool is_own_process);

  // Sends a report under step `step` if one is due at `now_ns`. The first report is due
  // immediately, others twice a second, or less often if measuring takes long.
  void report_if_due(std::int64_t step, std::int64_t now_ns);
  void tell(std::int64_t step, std::int64_t now_ns);

 private:
  void tell_device(std::int64_t step, std::int64_t now_ns);
  void metric(telemetry::Metric metric, std::int64_t step, std::int64_t now_ns, double value,
              int index = 0);

  telemetry::EventRing* events_;
  const BoundPlan& bound_;
  bool own_process_;
  std::int64_t next_ns_ = 0;  // time of the next report
};

// Returns the resident set size of this process, from /proc/self/statm; 0 if unavailable.
std::int64_t resident_bytes();

}  // namespace trainyard::run
