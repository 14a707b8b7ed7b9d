// SPDX-License-Identifier: GPL-3.0-or-later
// State of the stepper: the collective that it steps through, the values, and the current step.
// Independent of widgets.
#pragma once

#include <QObject>
#include <map>
#include <optional>

#include "ui/stepper/recorded_values.h"

namespace trainyard::ui {

class Stepper : public QObject {
  Q_OBJECT
 public:
  explicit Stepper(QObject* parent = nullptr);

  // Starts an exercise from its beginning. Does nothing if it equals the current exercise.
  // `recorded`: values that a run recorded; the user cannot set values then.
  void set_exercise(const collective::Exercise& exercise,
                    const std::optional<RecordedValues>& recorded = {});
  void set_seed(int seed);  // sets the seed of random values; discards values that the user set
  void set_value(int rank, int chunk, double value);  // sets an initial value
  int seed() const { return seed_; }
  bool edited() const { return !edits_.empty(); }
  bool has_recorded_values() const { return recorded_.has_value(); }

  const std::optional<base::Problem>& problem() const {
    return problem_;
  }  // reason why there is nothing to step through
  // Steps of the collective that is shown; without ranks if there is a problem.
  const collective::Steps& steps() const { return steps_; }
  const collective::State& state() const { return state_; }
  const collective::Move* move() const;  // the step executed last; null at the start
  int step() const { return step_; }     // number of completed steps

  // `complete`: true if the member holds the complete result of the chunk. `agreement`: compares
  // that result with the one that the run recorded; `unknown` if the result is not complete, or if
  // there are no recorded values.
  bool complete(int position, int chunk) const;
  enum class Agreement { unknown, same, other };
  Agreement agreement(int position, int chunk) const;
  double after(int position, int chunk) const {
    return recorded_->after[static_cast<std::size_t>(position)][static_cast<std::size_t>(chunk)];
  }

  void go_to(int step);
  void step_by(int steps) { go_to(step_ + steps); }
  void next_round() { go_to(steps_.after_round(step_)); }
  void previous_round() { go_to(steps_.before_round(step_)); }
  void go_to_end() { go_to(steps_.count()); }

 signals:
  // Emitted if the exercise or the source of its values changed. `step_changed` follows.
  void exercise_changed();
  void step_changed();  // the current step or the values changed

 private:
  void fill();
  void play(bool other_exercise = false);

  std::optional<collective::Exercise> exercise_;
  std::optional<base::Problem> problem_;
  std::optional<RecordedValues> recorded_;
  collective::Steps steps_;
  collective::Values values_;
  collective::State state_;
  std::map<std::pair<int, int>, double> edits_;  // values set by the user, by rank and chunk
  int seed_ = 1, step_ = 0;
};

}  // namespace trainyard::ui
