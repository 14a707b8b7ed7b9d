// SPDX-License-Identifier: GPL-3.0-or-later
// Replays asynchronous gossip of all ranks in one thread, with real numbers. Follows the recorded
// answers of passive ranks (plan::Answer), and computes the parameters of passive and active ranks.
// Equal orders of answers give bit-identical results, whether recorded or generated.
//
// Each rank is run by its own interpreter, as in a real run, but only as far as the order allows.
// Evaluations, and means of all ranks during the run, do not change the ranks' parameters and are
// skipped. Only the final mean is formed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/run/interpreter/interpreter.h"

namespace trainyard::run {

struct GossipReplayParts {
  const plan::Plan* plan = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  std::vector<std::unique_ptr<compute::Compute>> computes;  // devices, by rank
  // transports within this process, by rank
  std::vector<std::unique_ptr<comm::Transport>> transports;
  std::shared_ptr<const data::Dataset> dataset;
  data::Sampler sampler{0, 1, 1, 1};
  std::function<int(int rank)> share;  // `share` and `held_out`: as in InterpreterParts
  std::function<std::pair<std::int64_t, std::int64_t>(int rank)> held_out;
  // function that sets the weights before the first step
  std::function<void(const plan::RankPlan& rank, const BoundPlan& bound)> initialize;
  std::int64_t first_step = 0;
  std::string offload_directory;  // directory for buffers offloaded to disk
};

class GossipReplay {
 public:
  // Returns a Problem if a kernel cannot be prepared or memory is insufficient.
  static base::Result<std::unique_ptr<GossipReplay>> make(GossipReplayParts parts);
  ~GossipReplay();

  // Replays the next event. Returns a Problem if the event is impossible: an answer without an
  // offer, or at a position that the rank has already passed.
  base::Result<void> follow(const plan::Answer& event);

  compute::Tensor parameters(int rank) const;
  std::int64_t steps() const;  // number of steps of all ranks so far
  bool over() const;           // true after all ranks finished their last step and the final mean

 private:
  struct State;
  explicit GossipReplay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
