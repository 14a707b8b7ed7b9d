// SPDX-License-Identifier: GPL-3.0-or-later
// Interpreter of a bound plan: starts every op whose dependencies are met, and waits only if no op
// can run. One thread runs all lanes of the rank. Compute runs in order, and communication advances
// between two compute ops.
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
#include "core/run/bind/bound_plan.h"
#include "core/run/control/gate.h"
#include "core/run/control/slowness.h"
#include "core/telemetry/event_ring.h"

namespace trainyard::run {

class ChunkSampler;
class OrderLog;

// Index of a program, and index of an op in this program; -1: none.
struct OpPosition {
  std::int32_t program = -1, op = -1;
};

// Progress of a rank, for heartbeats; written by the interpreter, read by any thread.
struct RankProgress {
  std::atomic<std::int64_t> step{0};
  std::atomic<std::uint64_t> ops_done{0};
  // op that runs or that the rank waits for, stored atomically with its program; none while the
  // rank is at the gate
  std::atomic<OpPosition> op{OpPosition{}};
  std::atomic<std::int32_t> waits_for{-1};  // peer that the rank waits for; -1: none
  std::atomic<std::int64_t> first_step_done_ns{0};
};

struct InterpreterParts {
  const plan::RankPlan* plan = nullptr;
  plan::Schedule schedule;
  const BoundPlan* bound = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  compute::Compute* compute = nullptr;
  comm::Transport* transport = nullptr;          // null: a single rank
  std::shared_ptr<const data::Dataset> dataset;  // null: the plan loads no samples
  data::Sampler sampler{0, 1, 1, 1};
  std::pair<std::int64_t, std::int64_t> held_out;  // held-out samples to evaluate: first, count
  std::uint32_t generation = 0;
  telemetry::EventRing* events = nullptr;  // null: no recording
  bool record_ops = true;
  Gate* gate = nullptr;
  RankProgress* rank_progress = nullptr;
  const SlowdownModel* slowness = nullptr;  // null: ops are not slowed
  // used in place of the transport if an engine runs collectives as single ops; else null
  comm::Collectives* engine = nullptr;
  ChunkSampler* chunks = nullptr;  // null: no chunk values are recorded
  // false if the process runs several ranks; process memory is then not reported
  bool is_own_process = true;
  std::function<void(std::int64_t step)> evaluated = {};  // called after each evaluation
  // Checkpoint interval, in steps, of a worker of parameter servers, as in ServerParts. `save` is
  // called before the worker computes, when its assignment reaches a checkpoint step.
  std::int64_t save_every_steps = 0;
  std::function<void(std::int64_t step)> save = {};
  int share = -1;  // index of the rank's share of each step's samples; -1: the rank
  // order log of a server or passive rank (order_log.h); null: the order is not recorded
  OrderLog* order = nullptr;
};

// True if a rank needs the data set.
bool loads(const plan::RankPlan& plan);

class Interpreter {
 public:
  explicit Interpreter(InterpreterParts parts);
  ~Interpreter();

  // Warms up the rank before training: runs each compute op on the device, each chain until it is a
  // graph, sample loading, and each kind of engine call. On first use of a function, some devices
  // block all work (CUDA loads kernels and allocates memory then). In training this would deadlock
  // if the blocked work waits for peers (NCCL). Memory contents are undefined afterwards.
  base::Result<void> warm_up();

  // Runs from step `first_step` until the schedule or the gate ends the run. Returns the number of
  // completed steps. A Problem names the op that failed.
  base::Result<std::int64_t> run(std::int64_t first_step = 0);

  // Replaces `run` for an evaluator's plan: evaluates all its held-out samples with the current
  // parameters, and reports the result under step `step`.
  base::Result<void> evaluate(std::int64_t step);

  // The following functions replace `run` for a thread that runs several ranks and decides which
  // one proceeds (gossip_replay.h). The interpreter then answers no offers.
  void open(std::int64_t first_step);  // sets the first step
  // admits `program` as the next program to run
  base::Result<void> admit(const std::string& program, std::int64_t step);
  // runs what can run now, at most one compute op; returns false if a peer must proceed first
  base::Result<bool> progress();
  bool complete() const;  // true if all admitted programs are complete
  plan::StepPosition place() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
