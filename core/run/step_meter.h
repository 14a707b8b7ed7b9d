// SPDX-License-Identifier: GPL-3.0-or-later
// Measures a step and says what was measured: where its time went, and the numbers that its ops
// left behind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/comm/transport.h"
#include "core/run/bound_plan.h"
#include "core/run/memory_meter.h"
#include "core/telemetry/event_ring.h"

namespace trainyard::run {

// Nanoseconds of one step, by what the rank's thread did, each from the end of what came before.
// The rest of the step is what it took to say all this.
struct StepTimes {
  std::int64_t begin_ns = 0;
  std::int64_t compute_ns = 0, transfer_ns = 0, wait_ns = 0, input_ns = 0;
  std::int64_t imposed_ns =
      0;  // of compute_ns: waited, because ops were to take longer than they did
};

class StepMeter {
 public:
  // `events` may be null: then nothing is said. `transport` may be null: a rank alone. Without a
  // process of its own a rank's memory is not told.
  StepMeter(telemetry::EventRing* events, comm::Transport* transport, const model::Model& model,
            const BoundPlan& bound, bool own_process);

  StepTimes times;

  void op_event(int program, int op, std::int64_t step, std::int64_t begin_ns,
                std::int64_t ready_ns, std::int64_t end_ns, std::int64_t bytes,
                std::int64_t imposed_ns = 0);
  // A compute op was held back to take `factor` times its time, or that of the drawn device, than
  // which it took longer by `late_ns`.
  void held_back(double factor, std::int64_t imposed_ns, std::int64_t late_ns);
  // Of a rank that updates after every micro-batch: a gradient, so many updates old.
  void stale(std::int64_t step, int rank, int versions, std::int64_t now_ns);
  // Keeps what a compute op left behind, before the next step's can overwrite it.
  void capture(const BoundOp& op, std::int64_t step);
  // After a training step is complete: all of its metrics. Resets `times` to begin at `end_ns`.
  // Without a learning rate where a server updates by its own. `share`: samples of the step that
  // the rank takes, though its program may count none.
  void step_done(std::int64_t step, std::int64_t end_ns, const BoundProgram& program,
                 std::optional<double> learning_rate, std::int64_t share = 0);
  // Of a worker that names rows: what an op carried of a table's share, or the list of its rows, in
  // this round or in the turn that opens the next one.
  void carried_rows(const NamedRows& table, std::int64_t bytes, bool of_next_round);
  // The next step begins: what came between (a pause, answers to others) was in no step's time.
  // Resets `times` to begin at `now_ns`.
  void begin_anew(std::int64_t now_ns);
  // After an evaluation: sums over this rank's share. Begins anew.
  void evaluated(std::int64_t step, double loss_sum, double correct, std::int64_t samples,
                 std::int64_t end_ns);
  // Of a rank that averages with one neighbour at a time: how many so far.
  void averaged_in_pairs(std::int64_t step, std::int64_t averages);
  // After the mean of all ranks' parameters was made. Begins anew.
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
    bool skipped = false;                         // its updates left all weights as they were
    double loss_scale = 1;                        // of its gradients
    std::vector<double> local_norms, statistics;  // by segment; three by segment
    std::vector<double> squared_errors;           // by bucket
  };
  Captured& captured(std::int64_t step) {
    return captured_[static_cast<std::size_t>(step & 1)];
  }  // two steps may be under way

  telemetry::EventRing* events_;
  comm::Transport* transport_;
  const model::Model& model_;
  const BoundPlan& bound_;
  bool own_process_;
  MemoryMeter memory_;
  bool has_gradients_, updates_;  // the rank has ops for it
  std::array<Captured, 2> captured_;
  struct Tables {
    std::int64_t whole_bytes = 0, bytes = 0;
  };
  Tables tables_, tables_of_next_;  // by round
  bool holds_back_ = false;         // it was done once
  double factor_ = 1;
  std::int64_t late_ns_ = 0;
  std::int64_t skipped_updates_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t told_step_ = 0;
  std::vector<std::uint64_t>
      told_messages_;  // [peer] in both directions; 0: nothing of it was told
};

}  // namespace trainyard::run
