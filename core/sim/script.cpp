// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/script.h"

#include <fmt/core.h>

namespace trainyard::sim {

base::Result<ProgramSequence> ProgramSequence::make(const RankModel& model,
                                                    const plan::Schedule& schedule,
                                                    std::int64_t steps) {
  for (std::int64_t step = 0; step < steps; ++step)
    if (const auto name = schedule.program(step); model.program(name) < 0)
      return base::fail({"unknown_program", base::ProblemCode::bad_input,
                         fmt::format("rank {}", model.rank),
                         fmt::format("there is no program {}", name), "", ""});
  return ProgramSequence(model, schedule, steps);
}

void ProgramSequence::look_ahead() {
  if (!ahead_.empty() || next_step_ == steps_) return;
  if (const int start = model_->program("start"); start >= 0 && next_step_ == 0)
    ahead_.push_back({start, 0, plan::Purpose::start});
  ahead_.push_back({model_->program(schedule_.program(next_step_)), next_step_});
  if (const int average = model_->program("average");
      average >= 0 && schedule_.averages_after(next_step_))
    ahead_.push_back({average, next_step_, plan::Purpose::average});
  if (schedule_.evaluates_after(next_step_)) add_evaluation(next_step_);
  if (const int end = model_->program("end"); end >= 0 && next_step_ + 1 == schedule_.steps)
    ahead_.push_back({end, next_step_, plan::Purpose::end});
  ++next_step_;
}

void ProgramSequence::add_evaluation(std::int64_t step) {
  const std::size_t before = ahead_.size();
  for (const char* name : plan::kEvaluationPrograms)
    if (const int program = model_->program(name); program >= 0)
      ahead_.insert(
          ahead_.end(),
          static_cast<std::size_t>(model_->programs[static_cast<std::size_t>(program)].repeats),
          ProgramInstance{program, step, plan::Purpose::evaluation});
  if (ahead_.size() > before) ahead_.back().ends_evaluation = true;
}

bool ProgramSequence::admit(plan::Frontier& frontier) {
  bool any = false;
  for (look_ahead(); !ahead_.empty(); look_ahead()) {
    const bool alone = open_.empty();
    const bool follows_a_step = open_.size() == 1 &&
                                open_.front().purpose == plan::Purpose::training &&
                                ahead_.front().purpose == plan::Purpose::training;
    if (!alone && !follows_a_step) break;
    if (!frontier.admit(ahead_.front().program, ahead_.front().step)) break;
    open_.push_back(ahead_.front());
    open_.back().instance = frontier.admitted() - 1;
    ahead_.pop_front();
    any = true;
  }
  return any;
}

std::optional<ProgramInstance> ProgramSequence::take_complete(const plan::Frontier& frontier) {
  if (!has_complete(frontier)) return std::nullopt;
  const ProgramInstance part = open_.front();
  open_.pop_front();
  return part;
}

}  // namespace trainyard::sim
