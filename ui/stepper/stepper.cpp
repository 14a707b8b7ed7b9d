// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/stepper.h"

#include <algorithm>
#include <utility>

#include "core/compute/numbers.h"

namespace trainyard::ui {

Stepper::Stepper(QObject* parent) : QObject(parent) { steps_.exercise.hosts.clear(); }

void Stepper::set_exercise(const collective::Exercise& exercise,
                           const std::optional<RecordedValues>& recorded) {
  if (exercise_ == exercise && recorded_ == recorded) return;
  const bool had_recorded = std::exchange(recorded_, recorded).has_value();
  if (exercise_ == exercise) {
    fill();
    // The width of cells is computed again if example values replace recorded values, or the
    // reverse.
    return play(had_recorded != has_recorded_values());
  }
  exercise_ = exercise;
  auto played = collective::steps(exercise);
  problem_ = played ? std::nullopt : std::optional(played.error());
  steps_ = played ? std::move(*played) : collective::Steps();
  if (problem_) steps_.exercise.hosts.clear();
  step_ = 0;
  fill();
  play(true);
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

// Sets the initial values. Values that the user has set are kept if the new exercise has their rank
// and chunk.
void Stepper::fill() {
  if (recorded_ && !problem_) {
    values_ = recorded_->before;
    return;
  }
  values_ = collective::seeded_values(static_cast<std::uint64_t>(seed_), steps_.members(),
                                      steps_.chunks());
  for (const auto& [at, value] : edits_)
    if (at.first < steps_.members() && at.second < steps_.chunks())
      values_[static_cast<std::size_t>(at.first)][static_cast<std::size_t>(at.second)] = value;
}

void Stepper::play(bool other_exercise) {
  state_ = collective::state_at(
      steps_, values_, step_,
      recorded_ ? compute::adding_in(recorded_->dtype) : collective::plain_sum);
  if (other_exercise) emit exercise_changed();
  emit step_changed();
}

const collective::Move* Stepper::move() const {
  return step_ == 0 ? nullptr : &steps_.moves[static_cast<std::size_t>(step_ - 1)];
}

bool Stepper::complete(int position, int chunk) const {
  const collective::PartialSum& held =
      state_.held[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)];
  if (held.of.empty() || !steps_.wanted(position, chunk)) return false;
  return !collective::is_reduction(steps_.exercise.collective) ||
         static_cast<int>(held.of.size()) == steps_.members();
}

Stepper::Agreement Stepper::agreement(int position, int chunk) const {
  if (!recorded_ || !complete(position, chunk) ||
      steps_.chunk_bytes[static_cast<std::size_t>(chunk)] == 0)
    return Agreement::unknown;
  const double held =
      state_.held[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)].value;
  return compute::same_number(held, after(position, chunk)) ? Agreement::same : Agreement::other;
}

void Stepper::go_to(int step) {
  step = std::clamp(step, 0, steps_.count());
  if (step == step_) return;
  step_ = step;
  play();
}

}  // namespace trainyard::ui
