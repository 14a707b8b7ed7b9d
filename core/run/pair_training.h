// SPDX-License-Identifier: GPL-3.0-or-later
// All ranks of asynchronous gossip in one thread, with real numbers: follows what passive ranks
// did, answer by answer (plan::Answer), and computes what they and those that asked computed. The
// same order gives the same bits, whoever made it.
//
// Ops are carried out by the interpreter that real ranks have, of which each goes on no further
// than the order says. Means of all ranks that are made within a run change nobody's parameters,
// nor do evaluations: neither is made again, but the last mean, by which all end.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/run/interpreter.h"

namespace trainyard::run {

struct PairTrainingParts {
  const plan::Plan* plan = nullptr;
  const model::Model* model = nullptr;
  const Recipe* recipe = nullptr;
  std::vector<std::unique_ptr<compute::Compute>> computes;   // by rank
  std::vector<std::unique_ptr<comm::Transport>> transports;  // by rank, of ranks in one process
  std::shared_ptr<const data::Dataset> dataset;
  data::Sampler sampler{0, 1, 1, 1};
  std::function<int(int rank)> share;  // as in InterpreterParts, as the next
  std::function<std::pair<std::int64_t, std::int64_t>(int rank)> held_out;
  std::function<void(const plan::RankPlan& rank, const BoundPlan& bound)>
      initialise;  // weights before the first step
  std::int64_t first_step = 0;
  std::string swap_directory;  // of what ranks put aside on disk
};

class PairTraining {
 public:
  // A kernel that cannot be prepared, or memory that is not there, is a Problem.
  static base::Result<std::unique_ptr<PairTraining>> make(PairTrainingParts parts);
  ~PairTraining();

  // What happened next. A Problem where it cannot have happened: an answer that nobody asked for,
  // one before an op that was done already.
  base::Result<void> follow(const plan::Answer& event);

  compute::Tensor parameters(int rank) const;
  std::int64_t steps() const;  // of all ranks together, so far
  bool over() const;           // all have made their last step, and the mean by which they end

 private:
  struct State;
  explicit PairTraining(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::run
