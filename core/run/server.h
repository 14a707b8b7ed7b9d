// SPDX-License-Identifier: GPL-3.0-or-later
// A parameter server: gathers gradients as they arrive, updates and answers as its rule says
// (plan::Arrivals, which decides all of that). One thread does everything.
//
// What is given is a version that nobody writes: an update goes from one place to another
// (BoundPlan::versions), and waits while something still crosses from all others. In step gradients
// are added up in the order of ranks, from where the workers have them, once all are there, so that
// the sum does not depend on who comes first; else each is taken, and its worker free, as it comes.
//
// A worker that is lost (comm::Transport::has_lost) leaves: what it had sent whole is taken still,
// and the round that it owes goes to another. One that comes back in its place joins as at the
// start.
#pragma once

#include "core/run/interpreter.h"
#include "core/run/order_log.h"

namespace trainyard::run {

struct ServerParts {
  const plan::RankPlan* plan = nullptr;
  const std::vector<plan::Group>* groups = nullptr;
  std::int64_t evaluate_every_steps = 0;  // 0: never
  const BoundPlan* bound = nullptr;
  const Recipe* recipe = nullptr;
  bool divides_by_staleness = false;  // the learning rate, by the mean of the update's gradients
  compute::Compute* compute = nullptr;
  comm::Transport* transport = nullptr;
  std::uint32_t generation = 0;
  telemetry::EventRing* events = nullptr;  // null: nothing is recorded
  bool record_ops = true;
  bool own_process = true;  // as of InterpreterParts
  Gate* gate = nullptr;
  Whereabouts* whereabouts = nullptr;
  const Slowness* slowness = nullptr;              // null: ops take what they take
  int number = 0;                                  // of the server, from 0
  OrderLog* order = nullptr;                       // null: it is not written down
  std::int64_t first_step = 0, first_version = 0;  // steps and updates that are done already
  std::int64_t save_every_steps = 0;               // 0: never
  // Called between two updates, the first time that a multiple of those steps is done: `step`, by
  // which checkpoints are named. Copies what it wants.
  std::function<void(std::int64_t step, std::int64_t version)> save = {};
  double delay_compensation = 0;  // lambda, where the plan has memory for it
};

class Server {
 public:
  explicit Server(ServerParts parts);
  ~Server();

  // Until every worker has taken leave, or is lost; the number of steps done. The parameters are in
  // the first place of `versions` at the beginning.
  base::Result<std::int64_t> run();

  std::int64_t version() const;  // updates that are made
  // Those of the last version.
  compute::Tensor parameters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
