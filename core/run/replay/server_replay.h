// SPDX-License-Identifier: GPL-3.0-or-later
// Replay of all workers and servers of a plan in one thread, with real numbers. Follows the events
// of the servers (plan::ServerEvent) and computes the same results. Equal orders of events give
// bit-identical results, from a virtual clock or a recorded run.
//
// A worker's gradient is computed as soon as all servers have sent parameters to the worker. The
// gradient is reported when the first server receives it.
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
  double delay_compensation = 0;  // factor of delay compensation, as in ServerParts
  compute::Compute* compute = nullptr;
  std::shared_ptr<const data::Dataset> dataset;
  data::Sampler sampler{0, 1, 1, 1};
  // held-out samples of a worker: first and count, as in InterpreterParts
  std::function<std::pair<std::int64_t, std::int64_t>(int worker)> held_out;
  // function that sets the weights before the first step
  std::function<void(const plan::RankPlan& rank, const BoundPlan& bound)> initialize;
  std::function<telemetry::EventRing*(int rank)> events = {};  // null: no recording
  // updates that the servers completed before the start
  std::int64_t first_version = 0;
  // CLOCK_MONOTONIC time of the first recorded event; times of events are relative to it
  std::int64_t begun_ns = 0;
  std::string offload_directory = {};  // directory for buffers that workers offload to disk
  // called between ops, so that the caller can send heartbeats; a returned Problem stops the replay
  std::function<base::Result<void>()> between_ops = {};
};

class ServerReplay {
 public:
  // Returns a Problem if a kernel cannot be prepared or memory is insufficient.
  static base::Result<std::unique_ptr<ServerReplay>> make(ServedTrainingParts parts);
  ~ServerReplay();

  // Replays the next event. Returns a Problem if the event is impossible, for example a gradient
  // that no worker computed, or a rank that does not exist.
  base::Result<void> follow(const plan::ServerEvent& event);

  // Reports the gradients of the last update if it is incomplete. Call it after the last event.
  void conclude();

  int workers() const;
  // Returns the parameters of a rank. For a server: its share in the last version. For a worker:
  // those it was last given. With a single server, workers may share memory; the function then
  // returns the parameters that were last given to any worker.
  compute::Tensor parameters(int rank) const;
  // returns the worker's persistent state besides parameters, such as running statistics; may be
  // empty
  compute::Tensor state(int worker) const;
  std::int64_t done() const;       // number of steps, as counted by the first server
  std::int64_t gradients() const;  // number of computed gradients
  // returns the payload bytes sent from one rank to another so far, as in a real run
  std::int64_t bytes(int from, int to) const;
  std::int64_t memory_bytes() const;

 private:
  struct State;
  explicit ServerReplay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
