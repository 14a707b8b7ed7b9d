// SPDX-License-Identifier: GPL-3.0-or-later
// Which numbers of a run are stepped through: the step of training that put them aside, and which
// of those of a chunk; or an example's.
#pragma once

#include <QObject>
#include <optional>

#include "ui/stepper/true_values.h"

class QComboBox;

namespace trainyard::ui {

class ValuesPick : public QObject {
  Q_OBJECT
 public:
  ValuesPick(QComboBox* step, QComboBox* element, QObject* parent);

  // What is stepped through, as the run did it; null: something else. The history must outlive what
  // is asked of this.
  void look_at(const telemetry::History* history, const RunBucket* bucket,
               const collective::Exercise& exercise);
  void await_next();  // the next step that comes is chosen; news else move nothing

  bool any() const { return kept_ > 0; }  // steps of training that have values
  const std::optional<TrueValues>& values() const {
    return values_;
  }                      // nothing: those of an example
  QString said() const;  // "element 1 of 4 ... of step 0"

 signals:
  void changed();

 private:
  void refill_steps(const std::vector<int>& steps);
  void refill_elements(int count);
  int chosen_step() const;  // kExample: none

  QComboBox *step_, *element_;
  int kept_ = 0;
  bool wants_example_ = false;
  std::optional<int> newest_, awaited_after_;  // steps
  std::optional<TrueValues> values_;
};

}  // namespace trainyard::ui
