// SPDX-License-Identifier: GPL-3.0-or-later
// Sequence of a rank's program instances (executions of its programs). Instances are admitted by
// the rules of run::Interpreter. An instance is open from its admission until it is complete. A
// step may be admitted before the previous step is complete. An evaluation runs alone.
#pragma once

#include <deque>

#include "core/base/result.h"
#include "core/plan/frontier.h"
#include "core/sim/rank_model.h"

namespace trainyard::sim {

struct ProgramInstance {
  int program = 0;
  std::int64_t step = 0;
  plan::Purpose purpose = plan::Purpose::training;
  bool ends_evaluation = false;
  std::int64_t instance = 0;  // number that plan::Frontier assigned when the instance was admitted
};

class ProgramSequence {
 public:
  // Creates the sequence of the steps 0 to `steps` - 1, with the evaluations of the schedule. The
  // rank model must have the programs that the schedule names.
  static base::Result<ProgramSequence> make(const RankModel& model, const plan::Schedule& schedule,
                                            std::int64_t steps);

  // Admits the next program instances, as many as the rules allow. Returns true if any was
  // admitted.
  bool admit(plan::Frontier& frontier);
  bool has_complete(const plan::Frontier& frontier) const {
    return !open_.empty() && frontier.instance_complete(open_.front().instance);
  }
  // Removes and returns the oldest open program instance, if it is complete.
  std::optional<ProgramInstance> take_complete(const plan::Frontier& frontier);
  bool over() const { return open_.empty() && ahead_.empty() && next_step_ == steps_; }

 private:
  ProgramSequence(const RankModel& model, const plan::Schedule& schedule, std::int64_t steps)
      : model_(&model), schedule_(schedule), steps_(steps) {}
  void look_ahead();
  void add_evaluation(std::int64_t step);

  const RankModel* model_;
  plan::Schedule schedule_;
  std::int64_t steps_ = 0, next_step_ = 0;
  std::deque<ProgramInstance> ahead_, open_;
};

}  // namespace trainyard::sim
