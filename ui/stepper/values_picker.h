// SPDX-License-Identifier: GPL-3.0-or-later
// Controls that choose the values to step through. These are example values, or the values that a
// run recorded in a training step. For recorded values, the user also chooses which element of each
// chunk is shown.
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

  // Sets the bucket whose recorded values are offered; null if the exercise is not that of a run.
  // `history` must exist as long as functions of this object are called.
  void look_at(const telemetry::History* history, const RunBucket* bucket,
               const collective::Exercise& exercise);
  // When values of a later step arrive, selects that step, once. All other new steps leave the
  // selection unchanged.
  void await_next();

  bool any() const { return kept_ > 0; }  // true if there are values of a training step
  const std::optional<RecordedValues>& values() const {
    return values_;
  }                          // recorded values; nothing if the example's values are chosen
  QString sentence() const;  // sentence about the choice: "element 1 of 4 ... of step 0"

 signals:
  void changed();

 private:
  void refill_steps(const std::vector<int>& steps);
  void refill_elements(int count);
  int chosen_step() const;  // kExample if no step is chosen

  QComboBox *step_, *element_;
  int kept_ = 0;
  bool wants_example_ = false;
  // `newest_`: newest step with values. `awaited_after_`: newest step when `await_next` was called.
  std::optional<int> newest_, awaited_after_;
  std::optional<RecordedValues> values_;
};

}  // namespace trainyard::ui
