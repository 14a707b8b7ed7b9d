// SPDX-License-Identifier: GPL-3.0-or-later
// What an interpreter knows, and does. How it goes from step to step is in interpreter.cpp, what a
// worker of servers does instead, turn by turn, in interpreter_rounds.cpp, how ops are carried out
// in interpreter_ops.cpp, and what is done once before all that in interpreter_warm_up.cpp.
#pragma once

#include <chrono>
#include <limits>

#include "core/run/answering.h"
#include "core/run/chains.h"
#include "core/run/chunk_sampler.h"
#include "core/run/held_out.h"
#include "core/run/interpreter.h"
#include "core/run/named_rows.h"
#include "core/run/order_log.h"
#include "core/run/round_input.h"
#include "core/run/staleness.h"
#include "core/run/step_meter.h"
#include "core/run/swapping.h"
#include "core/run/transfers.h"
#include "core/run/turn.h"

namespace trainyard::run {

constexpr std::chrono::microseconds kWaitSlice{2000};  // the abort word is looked at between slices
constexpr std::size_t kGiven = 64;                     // compute ops that a device has at once
constexpr std::size_t kLinks =
    kGiven / 2;  // of a chain: there is another while it is at work on one

struct Interpreter::State {
  InterpreterParts parts;
  plan::Frontier frontier;
  StepMeter meter;
  const Staleness staleness;
  std::unique_ptr<Exchange> transfers;   // null: a rank alone
  std::unique_ptr<Answering> answering;  // null: nobody asks this rank
  std::unique_ptr<compute::Queue> queue;
  const bool one_by_one;  // an op is given when the one before it is done: it is held back, or
                          // neighbours are answered between the two
  std::optional<Chains> chains;  // unless one by one
  // An op that the device was given, and the mark after it.
  struct Computing {
    plan::Frontier::Ready ready;
    std::uint64_t mark = 0;
    std::int64_t begin_ns = 0;
  };
  std::vector<Computing> computing;  // in order; at most kGiven
  std::int64_t computed_ns = 0;      // when the last one was done
  std::unique_ptr<data::InputPipeline> pipeline;
  std::unique_ptr<RoundInput> rounds;  // instead, of a worker that is told what to compute
  std::unique_ptr<RowNames> row_names;
  const plan::Columns columns;  // of the samples that are loaded; none: all
  HeldOut held_out;
  std::vector<Transfer> done;
  std::vector<Swapped> swapped;
  plan::LaneId input_lane, compute_lane, copy_lane;
  std::vector<plan::LaneId> comm_lanes;
  bool evaluating = false;
  bool meeting = false;  // all make their mean, and evaluate; until the next step nobody is owed an
                         // answer, and who has no more steps may be gone
  std::int64_t completing = -1;  // the instance that is run to its end now; -1: none
  bool input_blocked = false;    // the input lane could go on if its batch were there
  // How many instances were admitted when the copy lane was asked to go on, or pass on; -1:
  // something has moved since. Asked whenever nothing moves, it would be under way for ever.
  std::int64_t copies_asked_at = -1;
  std::int64_t now_ns = 0;      // as last read: where one thing ends, the next begins
  std::int64_t step_of_op = 0;  // where the rank is; at times one on, as the next step begins early
  double loss_sum = 0, correct = 0;
  std::int64_t asked = 0;  // of a neighbour, and answered
  plan::StepPlace place;   // of what is computed: effects of an op are there when it counts
  const std::vector<std::int32_t> step_ops;  // by program: compute ops of a step; 0 of what is none
  std::int64_t round_instance =
      std::numeric_limits<std::int64_t>::max();  // of a worker of servers: in which it trains;
                                                 // later ones are of the next round
  std::int64_t saved = 0;                        // checkpoints, in steps / save_every_steps
  std::unique_ptr<Swapping>
      swapping;  // last, as it looks at the frontier; null: nothing is put aside

  explicit State(InterpreterParts p);
  ~State();  // when the device is done with whatever it was given

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
  base::Result<void> run_round(const Turn& turn);
  base::Result<void> train_and_ask(std::int64_t step);
  base::Result<Turn> await_turn(std::int64_t turns);
  base::Result<void> admit(const std::string& program, std::int64_t step);
  base::Result<void> run_once(const std::string& program, std::int64_t step);
  void wish(double value);
  base::Result<void> start(std::int64_t first_step);
  base::Result<void> train_steps(std::int64_t& step);
  bool may_admit(std::int64_t next, std::int64_t step) const;
  bool admit_step(std::int64_t next, std::int64_t step);
  std::int64_t share_of(std::int64_t step) const;  // samples
  bool averages_after(std::int64_t step) const;
  base::Result<void> average(std::int64_t step);
  base::Result<Gate::Answer> stand_at_gate(std::int64_t step);
  base::Result<bool> answer();
  void write_down(plan::Answer::Kind kind, int active = -1, std::int64_t step = 0) const;
  base::Result<void> answer_all(std::int64_t step);
  void tell_averages(std::int64_t step);
  void wait_for_peers(std::chrono::microseconds limit, int peer);
  base::Result<void> end(std::int64_t last_step);
  base::Result<void> evaluate(std::int64_t step);
  base::Result<void> complete(std::int64_t instance);
  base::Result<bool> progress();
  base::Result<bool> move_transfers();
  base::Result<bool> take_swapped();
  bool run_input();
  bool load(const plan::Frontier::Ready& ready);
  void name_rows(const BoundOp& op);
  base::Result<bool> run_compute();
  bool give_compute();
  bool may_follow(const BoundOp& op) const;
  bool may_follow(const Chains::Chain& chain) const;
  void give(Chains::Chain& chain);
  base::Result<bool> take_computed();
  base::Result<void> computed(const plan::Frontier::Ready& ready, std::int64_t begin_ns,
                              std::int64_t end_ns);
  void count(const plan::Frontier::Ready& computed);
  base::Result<std::int64_t> hold_back(const plan::Frontier::Ready& ready, std::int64_t begin_ns);
  void add_held_out();
  std::int64_t most_loaded() const;
  base::Result<void> idle();
  std::int64_t lap();
  void finish(plan::LaneId lane, const plan::Frontier::Ready& ready, std::int64_t begin,
              std::int64_t peer_ready, std::int64_t end, std::int64_t bytes,
              std::int64_t imposed_ns = 0);
  void tell(const plan::Frontier::Ready& ready, std::int64_t begin, std::int64_t peer_ready,
            std::int64_t end, std::int64_t bytes, std::int64_t imposed_ns);
  void is_at(const plan::Frontier::Ready& ready);
  base::Problem in_op(base::Problem problem) const;
  base::Problem in_given_ops(base::Problem problem) const;
  base::Problem told_to_stop() const {
    return {base::ProblemCode::cancelled, "rank " + std::to_string(parts.plan->rank),
            "was told to stop", "", ""};
  }
};

}  // namespace trainyard::run
