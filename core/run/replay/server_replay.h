// SPDX-License-Identifier: GPL-3.0-or-later
// All workers and servers of a plan in one thread, with real numbers: follows the events of the
// servers (plan::ServerEvent) and computes the same results. Equal orders give bit-identical
// results, from a virtual clock or a recorded run.
//
// A worker's gradient is computed as soon as all servers have given it parameters, but reported
// when the first server takes it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/plan/server_events.h"
#include "core/run/interpreter/interpreter.h"

namespace trainyard::run {

struct ServedTrainingParts {
  const plan::Plan* plan = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  bool divides_by_staleness = false;
  double delay_compensation = 0;  // as in ServerParts
  compute::Compute* compute = nullptr;
  std::shared_ptr<const data::Dataset> dataset;
  data::Sampler sampler{0, 1, 1, 1};
  std::function<std::pair<std::int64_t, std::int64_t>(int worker)>
      held_out;  // as in InterpreterParts
  std::function<void(const plan::RankPlan& rank, const BoundPlan& bound)>
      initialize;  // sets the weights before the first step
  std::function<telemetry::EventRing*(int rank)> events = {};  // null: no recording
  std::int64_t first_version = 0;                              // completed updates of the servers
  std::int64_t begun_ns = 0;           // CLOCK_MONOTONIC at time 0 of the order, for events
  std::string offload_directory = {};  // for buffers that workers offload to disk
  // called between ops, so that the caller can show that it is alive; a Problem stops the training
  std::function<base::Result<void>()> between_ops = {};
};

class ServerReplay {
 public:
  // A kernel that cannot be prepared, or insufficient memory, is a Problem.
  static base::Result<std::unique_ptr<ServerReplay>> make(ServedTrainingParts parts);
  ~ServerReplay();

  // Replays the next event. Returns a Problem if it is impossible: a gradient that no worker
  // computed, or a rank that does not exist.
  base::Result<void> follow(const plan::ServerEvent& event);

  int workers() const;
  // Returns the parameters of a rank. Worker: those it was last given; with a single server
  // possibly those that any worker was last given. Server: its share in the last version.
  compute::Tensor parameters(int rank) const;
  compute::Tensor state(int worker) const;  // persistent state besides parameters; may be empty
  std::int64_t done() const;                // steps, as counted by the first server
  std::int64_t gradients() const;           // number of computed gradients
  std::int64_t bytes(
      // payload from one rank to another so far, as real ranks would have sent it
      int from, int to) const;
  std::int64_t memory_bytes() const;

 private:
  struct State;
  explicit ServerReplay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
