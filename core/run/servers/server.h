// SPDX-License-Identifier: GPL-3.0-or-later
// A parameter server: takes gradients, updates, and answers with parameters, according to its
// update rule (plan::ArrivalQueue makes all decisions). Single-threaded.
//
// Workers are sent an immutable version: an update reads one version slot and writes another
// (BoundPlan::versions), and waits while all other slots are still being sent. Synchronous rules
// wait for all gradients and then sum them in place, in order of ranks, so that the sum does not
// depend on the order of arrival. Other rules take each gradient on arrival, after which its worker
// may continue.
//
// A worker whose connection is lost (comm::Transport::has_lost) is removed. Gradients that it sent
// completely are still taken, and its unfinished round goes to another worker. A process that
// replaces it joins as at the start.
#pragma once

#include "core/run/control/order_log.h"
#include "core/run/interpreter/interpreter.h"
#include "core/run/servers/update_average.h"

namespace trainyard::run {

struct ServerParts {
  const plan::RankPlan* plan = nullptr;
  const std::vector<plan::Group>* groups = nullptr;
  std::int64_t evaluate_every_steps = 0;  // interval of evaluations; 0: never
  // true if only the chief evaluates, because a checkpoint contains its running statistics
  bool chief_evaluates = false;
  const BoundPlan* bound = nullptr;
  const Recipe* recipe = nullptr;
  // true if the learning rate is divided by the mean staleness of the update's gradients
  bool divides_by_staleness = false;
  compute::Compute* compute = nullptr;
  comm::Transport* transport = nullptr;
  std::uint32_t generation = 0;
  telemetry::EventRing* events = nullptr;  // null: no recording
  bool record_ops = true;
  // false if the process runs several ranks; process memory is then not reported
  bool is_own_process = true;
  Gate* gate = nullptr;
  RankProgress* rank_progress = nullptr;
  const SlowdownModel* slowness = nullptr;         // null: ops are not slowed
  int number = 0;                                  // index of the server, from 0
  OrderLog* order = nullptr;                       // null: the order is not recorded
  std::int64_t first_step = 0, first_version = 0;  // steps and updates completed before this run
  std::int64_t save_every_steps = 0;               // interval of checkpoints; 0: never
  // Called between two updates when a multiple of save_every_steps is complete. `step`: this
  // multiple, which names the checkpoint. The function must copy what it saves.
  std::function<void(std::int64_t step, std::int64_t version)> save = {};
  // factor lambda of delay compensation; used if the plan has buffers for delay compensation
  double delay_compensation = 0;
  UpdateAverage average = {};
};

class Server {
 public:
  explicit Server(ServerParts parts);
  ~Server();

  // Runs until every worker has left or is lost. Returns the number of completed steps. Initially
  // the parameters are in slot 0 of `versions`.
  base::Result<std::int64_t> run();

  std::int64_t version() const;  // number of completed updates
  // Returns the parameters of the last version.
  compute::Tensor parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
