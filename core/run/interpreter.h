// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a bound plan: asks the frontier what may start, starts it, and waits only when nothing can.
// One thread runs all lanes of the rank; compute goes first in first out, and between two compute
// ops whatever arrived is moved on.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/collectives.h"
#include "core/comm/transport.h"
#include "core/data/input_pipeline.h"
#include "core/plan/answers.h"
#include "core/plan/frontier.h"
#include "core/run/bound_plan.h"
#include "core/run/gate.h"
#include "core/run/slowness.h"
#include "core/telemetry/event_ring.h"

namespace trainyard::run {

class ChunkSampler;
class OrderLog;

// An op of a program of the rank; -1: none.
struct OpPlace {
  std::int32_t program = -1, op = -1;
};

// Where a rank is, for heartbeats; written by the interpreter, read by anyone.
struct Whereabouts {
  std::atomic<std::int64_t> step{0};
  std::atomic<std::uint64_t> ops_done{0};
  std::atomic<OpPlace> op{OpPlace{}};  // that it is in or waits for, program and all at once; none:
                                       // at the gate, or on the way there
  std::atomic<std::int32_t> waits_for{-1};  // a peer
  std::atomic<std::int64_t> first_step_done_ns{0};
};

struct InterpreterParts {
  const plan::RankPlan* plan = nullptr;
  plan::Schedule schedule;
  const BoundPlan* bound = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  compute::Compute* compute = nullptr;
  comm::Transport* transport = nullptr;          // null: a rank alone
  std::shared_ptr<const data::Dataset> dataset;  // null: of a plan that loads nothing
  data::Sampler sampler{0, 1, 1, 1};
  std::pair<std::int64_t, std::int64_t>
      held_out;  // of the held-out samples those to evaluate: first, count
  std::uint32_t generation = 0;
  telemetry::EventRing* events = nullptr;  // null: nothing is recorded
  bool record_ops = true;
  Gate* gate = nullptr;
  Whereabouts* whereabouts = nullptr;
  const Slowness* slowness = nullptr;   // null: ops take what they take
  comm::Collectives* engine = nullptr;  // instead of the transport: takes collectives whole
  ChunkSampler* chunks = nullptr;       // null: no values of theirs are put aside
  bool own_process = true;              // else its memory is also that of others, and not told
  std::function<void(std::int64_t step)> evaluated =
      {};  // called when held-out samples were measured after a step
  // Of a worker of servers, as in ServerParts: called before it computes, by a turn.
  std::int64_t save_every_steps = 0;
  std::function<void(std::int64_t step)> save = {};
  int share = -1;  // which of the sampler's shares of a step it takes; -1: that of its rank
  OrderLog* order =
      nullptr;  // of a rank that keeps one (order_log.h); null: it is not written down
};

// Whether a rank needs the data set.
bool loads(const plan::RankPlan& plan);

class Interpreter {
 public:
  explicit Interpreter(InterpreterParts parts);
  ~Interpreter();

  // Before all else: each compute op on the device, its chains until they are graphs, the way that
  // samples come, and each kind of an engine's calls, with whatever lies in the rank's memory; what
  // that holds then, means nothing. For devices that may wait, with what they do for the first
  // time, for all that they are at (CUDA: kernels are loaded then, and memory is allocated), where
  // what they are at waits for peers (NCCL).
  base::Result<void> warm_up();

  // Runs from step `first_step` until the schedule or the gate ends it; the number of steps done. A
  // failure names the op.
  base::Result<std::int64_t> run(std::int64_t first_step = 0);

  // Instead, of a plan that evaluates alone: all its held-out samples by the parameters as they are
  // now, told as those after `step`.
  base::Result<void> evaluate(std::int64_t step);

  // Or piece by piece, where one thread has several ranks and decides which of them goes on
  // (pair_training.h). Whoever asks the rank is not answered then.
  void open(std::int64_t first_step);  // it will train from this step on
  base::Result<void> admit(const std::string& program, std::int64_t step);  // to be done next
  base::Result<bool>
  progress();  // what can be done now, of compute ops at most one; false: a peer has to come first
  bool complete() const;  // all that was admitted is done
  plan::StepPlace place() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
