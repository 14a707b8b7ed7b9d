// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/values_picker.h"

#include <QComboBox>
#include <QWidget>
#include <algorithm>

namespace trainyard::ui {
namespace {

constexpr int kExample = -2;  // item data for the example's values, in place of a step
static_assert(kExample != telemetry::kBeforeSteps);

}  // namespace

ValuesPicker::ValuesPicker(QComboBox* step, QComboBox* element, QObject* parent)
    : QObject(parent), step_(step), element_(element) {
  step_->setToolTip(
      tr("Values that the ranks recorded in a few training steps and in steps started with Single "
         "step, up to a size limit; or small example integers"));
  element_->setToolTip(tr("A few recorded elements, spread over each chunk"));
  connect(step_, &QComboBox::activated, this, [this] {
    wants_example_ = chosen_step() == kExample;
    awaited_after_.reset();
    emit changed();
  });
  connect(element_, &QComboBox::activated, this, &ValuesPicker::changed);
}

int ValuesPicker::chosen_step() const {
  return step_->currentIndex() < 0 ? kExample : step_->currentData().toInt();
}

void ValuesPicker::look_at(const telemetry::History* history, const RunBucket* bucket,
                           const collective::Exercise& exercise) {
  const bool known = history != nullptr && bucket != nullptr;
  refill_steps(known ? recorded_steps(*history, *bucket) : std::vector<int>());
  const int step = known ? chosen_step() : kExample;
  refill_elements(step == kExample ? 0 : recorded_elements(*history, *bucket, exercise, step));
  values_ = step == kExample ? std::nullopt
                             : recorded_values(*history, *bucket, exercise, step,
                                               std::max(0, element_->currentIndex()));
  step_->parentWidget()->setVisible(any());
  element_->parentWidget()->setVisible(values_.has_value() && element_->count() > 1);
}

void ValuesPicker::await_next() { awaited_after_ = newest_.value_or(kExample); }

// Fills the list of steps. The selected step stays selected if it is still in the list; otherwise
// the first step with values is selected.
void ValuesPicker::refill_steps(const std::vector<int>& steps) {
  const int before = chosen_step();
  kept_ = static_cast<int>(steps.size());
  newest_ = steps.empty() ? std::nullopt : std::optional(steps.back());
  step_->clear();
  for (const int one : steps)
    step_->addItem(
        one == telemetry::kBeforeSteps ? tr("before the first step") : tr("step %1").arg(one), one);
  if (steps.empty()) return;
  step_->addItem(tr("from an example"), kExample);
  const bool has_come = awaited_after_ && *newest_ > *awaited_after_ && !wants_example_;
  const int at =
      has_come ? kept_ - 1
               : step_->findData(wants_example_ || before != kExample ? before : steps.front());
  step_->setCurrentIndex(std::max(0, at));
  if (has_come) awaited_after_.reset();
}

void ValuesPicker::refill_elements(int count) {
  const int before = std::max(0, element_->currentIndex());
  element_->clear();
  for (int element = 0; element < count; ++element)
    element_->addItem(tr("%1 of %2").arg(element + 1).arg(count));
  if (count > 0) element_->setCurrentIndex(std::min(before, count - 1));
}

QString ValuesPicker::sentence() const {
  const int step = chosen_step();
  const QString when = step == telemetry::kBeforeSteps ? tr("before the first training step")
                                                       : tr("in step %1").arg(step);
  return tr("recorded element %1 of each chunk, as held before the collective, %2")
      .arg(element_->currentText(), when);
}

}  // namespace trainyard::ui
