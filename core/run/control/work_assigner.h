// SPDX-License-Identifier: GPL-3.0-or-later
// Assigns work to workers on the first server: maps rounds to steps, and decides which worker
// evaluates.
#pragma once

#include "core/plan/arrivals.h"
#include "core/run/control/work_assignment.h"

namespace trainyard::run {

class WorkAssigner {
 public:
  // `evaluate_every_steps`: interval of evaluations; 0: never. `done`: completed steps at the
  // start.
  WorkAssigner(const plan::ArrivalRule& rule, std::int64_t evaluate_every_steps,
               std::int64_t done = 0)
      : in_step_(rule.answers_after_update),
        every_(evaluate_every_steps),
        next_evaluation_(every_ > 0 ? (done / every_ + 1) * every_ : 0) {}

  // Returns the next assignment. `done`: completed steps; `gradients`: number of gradients taken by
  // the servers; `may_evaluate`: false if the worker must not evaluate.
  WorkAssignment next(const plan::ArrivalQueue::Answer& given, std::int64_t done,
                      std::int64_t gradients, bool may_evaluate) {
    WorkAssignment turn{in_step_ ? given.version : given.round, done, gradients};
    turn.evaluates = may_evaluate && every_ > 0 && done > 0 && done >= next_evaluation_;
    if (turn.evaluates) next_evaluation_ = (done / every_ + 1) * every_;
    return turn;
  }

  // Returns the assignment that tells a worker that no work is left. The first worker that gets it
  // and may evaluate evaluates the final parameters.
  WorkAssignment last(std::int64_t done, std::int64_t gradients, bool may_evaluate) {
    WorkAssignment turn{done, done, gradients, true};
    turn.evaluates = may_evaluate && next_evaluation_ > 0;
    if (turn.evaluates) next_evaluation_ = 0;
    return turn;
  }

 private:
  bool in_step_;
  std::int64_t every_, next_evaluation_;
};

}  // namespace trainyard::run
