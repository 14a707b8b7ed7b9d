// SPDX-License-Identifier: GPL-3.0-or-later
// Choice of a run's values to step through: the training step that recorded them, and the element
// of each chunk; or an example's values.
#pragma once

#include <QObject>
#include <optional>

#include "ui/stepper/recorded_values.h"

class QComboBox;

namespace trainyard::ui {

class ValuesPicker : public QObject {
  Q_OBJECT
 public:
  ValuesPicker(QComboBox* step, QComboBox* element, QObject* parent);

  // Sets the bucket as the run executed it. Null: the exercise is not of a run. The history must
  // outlive all later calls.
  void look_at(const telemetry::History* history, const RunBucket* bucket,
               const collective::Exercise& exercise);
  // selects the next step that arrives; normally, new steps do not change the selection
  void await_next();

  bool any() const { return kept_ > 0; }  // some training steps have values
  const std::optional<RecordedValues>& values() const {
    return values_;
  }                      // nothing: an example's values
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
  std::optional<RecordedValues> values_;
};

}  // namespace trainyard::ui
