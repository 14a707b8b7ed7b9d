// SPDX-License-Identifier: GPL-3.0-or-later
// State of an interpreter. interpreter.cpp runs steps, interpreter_rounds.cpp the rounds of a
// worker of servers, interpreter_ops.cpp ops, and interpreter_warm_up.cpp the warm-up before the
// first step.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "core/plan/sample_count.h"
#include "core/run/control/order_log.h"
#include "core/run/control/work_assignment.h"
#include "core/run/exchange/transfers.h"
#include "core/run/input/held_out.h"
#include "core/run/input/named_rows.h"
#include "core/run/input/round_input.h"
#include "core/run/interpreter/chains.h"
#include "core/run/interpreter/interpreter.h"
#include "core/run/interpreter/offer_answerer.h"
#include "core/run/interpreter/offloading.h"
#include "core/run/interpreter/staleness.h"
#include "core/run/meters/chunk_sampler.h"
#include "core/run/meters/step_meter.h"

namespace trainyard::run {

// maximum length of one wait; the abort word is checked between two waits
constexpr std::chrono::microseconds kWaitSlice{2000};
constexpr std::size_t kGiven = 64;  // maximum number of compute ops submitted to a device
constexpr std::size_t kLinks =
    kGiven / 2;  // maximum length of a chain, so that a second chain fits while the device runs one

struct Interpreter::State {
  InterpreterParts parts;
  plan::Frontier frontier;
  StepMeter meter;
  const Staleness staleness;
  std::unique_ptr<Exchange> transfers;       // null: a single rank
  std::unique_ptr<OfferAnswerer> answering;  // null: not a passive rank
  std::unique_ptr<compute::Queue> queue;
  // true if the next op is submitted only after the previous one is complete, because ops are
  // slowed, or because offers are answered between ops
  const bool enqueue_uncaptured;
  std::map<std::pair<const BoundOp*, plan::SampleCount>, std::unique_ptr<compute::Kernel>>
      kernels_by_samples;
  std::optional<Chains> chains;  // empty if ops are submitted one by one (`enqueue_uncaptured`)
  // Op that was submitted to the device, and the mark in the device's queue that is reached when
  // the op is complete.
  struct Computing {
    plan::Frontier::Ready ready;
    std::uint64_t mark = 0;
    std::int64_t begin_ns = 0;
  };
  std::vector<Computing> computing;  // submitted ops in order; at most kGiven
  std::int64_t computed_ns = 0;      // end of the last completed op
  std::unique_ptr<data::InputPipeline> pipeline;
  // loader of samples that replaces `pipeline` for a worker that is assigned rounds
  std::unique_ptr<RoundInput> rounds;
  std::unique_ptr<RowNames> row_names;
  const plan::Columns columns;  // columns of the loaded samples; none: all
  HeldOut held_out;
  std::vector<Transfer> done;
  std::vector<CompletedCopy> offloaded;
  plan::LaneId input_lane, compute_lane, copy_lane;
  std::vector<plan::LaneId> comm_lanes;
  bool evaluating = false;
  // true while all ranks form their mean and evaluate. Until the next step no offers need to be
  // answered, and ranks without further steps may have left.
  bool meeting = false;
  std::int64_t completing = -1;  // index of the admitted program that must complete now; -1: none
  bool input_blocked = false;    // true while the input lane waits for its batch
  // Number of admitted programs when the copy lane was last notified; -1 if some lane has advanced
  // since then. The copy lane is not notified again while no lane advances, because repeated
  // notifications would keep its thread busy.
  std::int64_t copies_requested_at = -1;
  // time of the last clock reading, at which one measured interval ends and the next begins
  std::int64_t now_ns = 0;
  // step of the op that runs; one more than the current step if the next step has begun early
  std::int64_t step_of_op = 0;
  double loss_sum = 0, correct = 0;
  std::int64_t asked = 0;  // number of offers of this rank that neighbors have answered
  // position of computation: step, and number of its compute ops whose effects are complete
  plan::StepPosition place;
  // number of compute ops of a training step, by program; 0 for other programs
  const std::vector<std::int32_t> step_ops;
  // for a worker of servers: index of the admitted program that trains; later ones belong to the
  // next round
  std::int64_t round_instance = std::numeric_limits<std::int64_t>::max();
  // number of checkpoint intervals (save_every_steps) up to the last checkpoint
  std::int64_t saved = 0;
  // null if nothing is offloaded; declared last, because the thread of this object uses the
  // frontier
  std::unique_ptr<Offloading> offloading;

  explicit State(InterpreterParts p);
  ~State();  // waits until the device has finished all submitted ops

  const BoundOp& bound(const plan::Frontier::Ready& ready) const {
    return parts.bound->programs[static_cast<std::size_t>(ready.program)]
        .ops[static_cast<std::size_t>(ready.op)];
  }
  const BoundProgram& bound_program(int program) const {
    return parts.bound->programs[static_cast<std::size_t>(program)];
  }

  base::Result<void> warm_up();
  void load_nothing(const compute::Tensor& input);
  base::Result<void> run_alone(const plan::Frontier::Ready& ready);
  base::Result<std::int64_t> run(std::int64_t first_step);
  void open(std::int64_t first_step);
  base::Result<std::int64_t> run_rounds();
  base::Result<void> run_round(const WorkAssignment& turn);
  base::Result<void> train_and_ask(std::int64_t step);
  base::Result<WorkAssignment> await_turn(std::int64_t turns);
  base::Result<void> admit(const std::string& program, std::int64_t step);
  base::Result<void> run_once(const std::string& program, std::int64_t step);
  void write_request(double value);
  base::Result<void> start(std::int64_t first_step);
  base::Result<void> train_steps(std::int64_t& step);
  bool may_admit(std::int64_t next, std::int64_t step) const;
  bool admit_step(std::int64_t next, std::int64_t step);
  // returns the number of the rank's samples in a step
  std::int64_t share_of(std::int64_t step) const;
  bool averages_after(std::int64_t step) const;
  base::Result<void> average(std::int64_t step);
  base::Result<Gate::Answer> wait_at_gate(std::int64_t step);
  base::Result<bool> answer();
  void log_answer(plan::Answer::Kind kind, int active = -1, std::int64_t step = 0) const;
  base::Result<void> answer_all(std::int64_t step);
  void report_averages(std::int64_t step);
  void wait_for_peers(std::chrono::microseconds limit, int peer);
  base::Result<void> end(std::int64_t last_step);
  base::Result<void> evaluate(std::int64_t step);
  // Runs until the instance is complete. Calls `meanwhile` between ops.
  template <class Meanwhile>
  base::Result<void> complete(std::int64_t instance, const Meanwhile& meanwhile) {
    completing = instance;
    while (!frontier.instance_complete(instance)) {
      meanwhile();
      const auto moved = progress();
      if (!moved) return base::fail(moved.error());
      if (!*moved)
        if (auto ok = idle(); !ok) return ok;
    }
    completing = -1;
    return {};
  }
  base::Result<void> complete(std::int64_t instance) {
    return complete(instance, [] {});
  }
  base::Result<bool> progress();
  base::Result<bool> move_transfers();
  base::Result<bool> take_offloaded();
  bool run_input();
  bool load(const plan::Frontier::Ready& ready);
  void name_rows(const BoundOp& op);
  base::Result<bool> run_compute();
  base::Result<bool> submit_compute();
  base::Result<compute::Kernel*> kernel_by_samples(const plan::Frontier::Ready& ready);
  bool may_follow(const BoundOp& op) const;
  bool may_follow(const Chains::Chain& chain) const;
  void give(Chains::Chain& chain);
  base::Result<bool> take_computed();
  base::Result<void> computed(const plan::Frontier::Ready& ready, std::int64_t begin_ns,
                              std::int64_t end_ns);
  void count(const plan::Frontier::Ready& computed);
  base::Result<std::int64_t> hold_back(const plan::Frontier::Ready& ready, std::int64_t begin_ns);
  void add_held_out();
  std::int64_t max_loaded() const;
  base::Result<void> idle();
  std::int64_t lap();
  void finish(plan::LaneId lane, const plan::Frontier::Ready& ready, std::int64_t begin,
              std::int64_t peer_ready, std::int64_t end, std::int64_t bytes,
              std::int64_t imposed_ns = 0);
  void record_op(const plan::Frontier::Ready& ready, std::int64_t begin, std::int64_t peer_ready,
                 std::int64_t end, std::int64_t bytes, std::int64_t imposed_ns);
  void is_at(const plan::Frontier::Ready& ready);
  base::Problem in_op(base::Problem problem) const;
  base::Problem in_given_ops(base::Problem problem) const;
  base::Problem stop_problem() const {
    return {"stopped",
            base::ProblemCode::canceled,
            fmt::format("rank {}", parts.plan->rank),
            "the rank was stopped",
            "",
            ""};
  }
};

}  // namespace trainyard::run
