// SPDX-License-Identifier: GPL-3.0-or-later
// All workers and servers of a plan in one thread, with real numbers: follows what servers did, or
// shall do, event by event (plan::Served), and computes what they computed. The same order gives
// the same bits, whoever made it: a virtual clock, or a real run that wrote it down.
//
// A worker's gradient is computed as soon as all servers have given it the parameters, though it is
// told of when the first server takes it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/plan/served.h"
#include "core/run/interpreter.h"

namespace trainyard::run {

struct ServedTrainingParts {
  const plan::Plan* plan = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  bool divides_by_staleness = false;
  double delay_compensation = 0;  // as of ServerParts
  compute::Compute* compute = nullptr;
  std::shared_ptr<const data::Dataset> dataset;
  data::Sampler sampler{0, 1, 1, 1};
  std::function<std::pair<std::int64_t, std::int64_t>(int worker)>
      held_out;  // as in InterpreterParts
  std::function<void(const plan::RankPlan& rank, const BoundPlan& bound)>
      initialise;                                              // weights before the first step
  std::function<telemetry::EventRing*(int rank)> events = {};  // null: nothing is recorded
  std::int64_t first_version = 0;   // updates of servers that are made already
  std::int64_t begun_ns = 0;        // CLOCK_MONOTONIC at time 0 of the order, for events
  std::string swap_directory = {};  // of what workers put aside on disk
  std::function<base::Result<void>()> between_ops =
      {};  // so that who waits is not forgotten; a Problem ends it
};

class ServedTraining {
 public:
  // A kernel that cannot be prepared, or memory that is not there, is a Problem.
  static base::Result<std::unique_ptr<ServedTraining>> make(ServedTrainingParts parts);
  ~ServedTraining();

  // What happened next. A Problem where it cannot have happened: a gradient that nobody computed, a
  // rank that there is not.
  base::Result<void> follow(const plan::Served& event);

  int workers() const;
  // Of a worker: those that it was given last, which with one server may be those that any was
  // given last; of a server: its share, in its last version. By rank.
  compute::Tensor parameters(int rank) const;
  compute::Tensor state(int worker) const;  // what training keeps besides parameters; may be empty
  std::int64_t done() const;                // steps, as the first server counts them
  std::int64_t gradients() const;           // computed so far
  std::int64_t bytes(
      int from, int to) const;  // payload between two ranks so far, as real ones would have sent it
  std::int64_t memory_bytes() const;

 private:
  struct State;
  explicit ServedTraining(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
