// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/stepper.h"

#include <algorithm>

namespace trainyard::ui {

Stepper::Stepper(QObject* parent) : QObject(parent) { steps_.exercise.hosts.clear(); }

void Stepper::set_exercise(const collective::Exercise& exercise) {
  if (exercise_ == exercise) return;
  exercise_ = exercise;
  auto played = collective::steps(exercise);
  problem_ = played ? std::nullopt : std::optional(played.error());
  steps_ = played ? std::move(*played) : collective::Steps();
  if (problem_) steps_.exercise.hosts.clear();
  step_ = 0;
  fill();
  emit exercise_changed();
  play();
}

void Stepper::set_seed(int seed) {
  seed_ = seed;
  edits_.clear();
  fill();
  play();
}

void Stepper::set_value(int rank, int chunk, double value) {
  edits_[{rank, chunk}] = value;
  fill();
  play();
}

// What was set by hand stays where another algorithm has that rank and chunk too.
void Stepper::fill() {
  values_ = collective::seeded_values(static_cast<std::uint64_t>(seed_), steps_.members(), steps_.chunks());
  for (const auto& [at, value] : edits_)
    if (at.first < steps_.members() && at.second < steps_.chunks()) values_[static_cast<std::size_t>(at.first)][static_cast<std::size_t>(at.second)] = value;
}

void Stepper::play() {
  state_ = collective::state_at(steps_, values_, step_);
  emit step_changed();
}

const collective::Move* Stepper::move() const { return step_ == 0 ? nullptr : &steps_.moves[static_cast<std::size_t>(step_ - 1)]; }

void Stepper::go_to(int step) {
  step = std::clamp(step, 0, steps_.count());
  if (step == step_) return;
  step_ = step;
  play();
}

}  // namespace trainyard::ui
