// SPDX-License-Identifier: GPL-3.0-or-later
// Measures and reports steps: where their time went, and the metrics that ops computed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/comm/transport.h"
#include "core/run/bind/bound_plan.h"
#include "core/run/meters/memory_meter.h"
#include "core/telemetry/event_ring.h"

namespace trainyard::run {

// Nanoseconds of one step by activity of the rank's thread. Each activity is measured from the end
// of the previous one. The remainder of the step is spent reporting.
struct StepTimes {
  std::int64_t begin_ns = 0;
  std::int64_t compute_ns = 0, transfer_ns = 0, wait_ns = 0, input_ns = 0;
  std::int64_t imposed_ns = 0;  // part of compute_ns: time that ops were slowed
};

class StepMeter {
 public:
  // `events`: destination of reports; null: no reports. `transport`: null for a single rank.
  // Without `is_own_process`, the rank's memory is not reported.
  StepMeter(telemetry::EventRing* events, comm::Transport* transport, const model::Model& model,
            const BoundPlan& bound, bool is_own_process);

  StepTimes times;

  void op_event(int program, int op, std::int64_t step, std::int64_t begin_ns,
                std::int64_t ready_ns, std::int64_t end_ns, std::int64_t bytes,
                std::int64_t imposed_ns = 0);
  // Records that a compute op was slowed: to `factor` times its real time, or to the drawn device's
  // time. `late_ns`: time by which the op exceeded the time of the drawn device.
  void record_slowed(double factor, std::int64_t imposed_ns, std::int64_t late_ns);
  // Reports the staleness, in updates, of a gradient on a rank that updates after every
  // micro-batch.
  void stale(std::int64_t step, int rank, int versions, std::int64_t now_ns);
  // Saves an op's results before the next step can overwrite them.
  void capture(const BoundOp& op, std::int64_t step);
  // Reports all metrics of a complete training step, and restarts `times` at `end_ns`.
  // `learning_rate`: not set if servers update, because they have their own rate. `share`: number
  // of samples of the step that the rank processes, even if its program counts none.
  void step_done(std::int64_t step, std::int64_t end_ns, const BoundProgram& program,
                 std::optional<double> learning_rate, std::int64_t share = 0);
  // For a worker that lists table rows: records the bytes of the rows of one share, or of the list
  // itself. `of_next_round`: the bytes belong to the exchange that opens the next round.
  void carried_rows(const NamedRows& table, std::int64_t bytes, bool of_next_round);
  // Restarts `times` at `now_ns` for the next step, so that time between steps (a pause, answers)
  // belongs to no step.
  void reset(std::int64_t now_ns);
  // Reports an evaluation: `loss_sum` and `correct` are sums over this rank's share. Restarts
  // `times`.
  void evaluated(std::int64_t step, double loss_sum, double correct, std::int64_t samples,
                 std::int64_t end_ns);
  // Reports the number of averages so far, on a rank that averages with one neighbor at a time.
  void averaged_in_pairs(std::int64_t step, std::int64_t averages);
  // Reports the squared distance of the rank's parameters from the mean of all ranks. Restarts
  // `times`.
  void averaged(std::int64_t step);

 private:
  void metric(telemetry::Metric metric, std::int64_t step, double value, int index = 0);
  void gradient_metrics(std::int64_t step, const BoundProgram& program, std::int64_t share);
  void compression_metrics(std::int64_t step);
  void table_metric(std::int64_t step);
  void imposed_metrics(std::int64_t step);
  void skipped_metric(std::int64_t step);
  void traffic_metrics(std::int64_t step);
  void traffic_between_steps();
  void traffic_metric(std::int64_t step, int peer, const comm::Traffic& traffic);

  struct Captured {
    double loss_sum = 0, correct = 0;
    bool skipped = false;   // the updates of the step were skipped
    double loss_scale = 1;  // loss scale of the step's gradients
    // `local_norms`: norm of the local gradient, by segment. `statistics`: three numbers for each
    // segment, which describe its update
    std::vector<double> local_norms, statistics;
    std::vector<double> squared_errors;  // squared compression errors by bucket
  };
  Captured& captured(std::int64_t step) {
    return captured_[static_cast<std::size_t>(step & 1)];
  }  // even and odd steps alternate, because two steps may be in progress

  telemetry::EventRing* events_;
  comm::Transport* transport_;
  const model::Model& model_;
  const BoundPlan& bound_;
  bool own_process_;
  MemoryMeter memory_;
  bool updates_;  // true if the rank updates parameters
  std::array<Captured, 2> captured_;
  struct Tables {
    std::int64_t full_bytes = 0, bytes = 0;
  };
  Tables tables_, tables_of_next_;  // bytes of tables in this round and in the next
  bool holds_back_ = false;         // true after an op was slowed for the first time
  double factor_ = 1;
  std::int64_t late_ns_ = 0;
  std::int64_t skipped_updates_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t reported_step_ = 0;
  // number of messages in both directions at the last report, by peer; 0: never reported
  std::vector<std::uint64_t> reported_messages_;
};

}  // namespace trainyard::run
