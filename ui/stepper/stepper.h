// SPDX-License-Identifier: GPL-3.0-or-later
// The collective that is stepped through, the numbers in it, and where it stands. No widgets.
#pragma once

#include <QObject>
#include <map>
#include <optional>

#include "core/collective/steps.h"

namespace trainyard::ui {

class Stepper : public QObject {
  Q_OBJECT
 public:
  explicit Stepper(QObject* parent = nullptr);

  void set_exercise(const collective::Exercise& exercise);  // begins at its start, unless it is the same
  void set_seed(int seed);                                  // of the numbers; those set by hand are forgotten
  void set_value(int rank, int chunk, double value);        // that it begins with
  int seed() const { return seed_; }
  bool edited() const { return !edits_.empty(); }

  const std::optional<base::Problem>& problem() const { return problem_; }  // why there is nothing to step through
  const collective::Steps& steps() const { return steps_; }                 // without ranks, where there is a problem
  const collective::State& state() const { return state_; }
  const collective::Move* move() const;  // the last step; null at the start
  int step() const { return step_; }     // so many are done

  void go_to(int step);
  void go_by(int steps) { go_to(step_ + steps); }
  void next_round() { go_to(steps_.after_round(step_)); }
  void previous_round() { go_to(steps_.before_round(step_)); }
  void go_to_end() { go_to(steps_.count()); }

 signals:
  void exercise_changed();  // before `step_changed`
  void step_changed();      // or the numbers

 private:
  void fill();
  void play();

  std::optional<collective::Exercise> exercise_;
  std::optional<base::Problem> problem_;
  collective::Steps steps_;
  collective::Values values_;
  collective::State state_;
  std::map<std::pair<int, int>, double> edits_;  // by rank and chunk
  int seed_ = 1, step_ = 0;
};

}  // namespace trainyard::ui
