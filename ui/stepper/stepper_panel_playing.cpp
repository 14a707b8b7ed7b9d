// SPDX-License-Identifier: GPL-3.0-or-later
// Controls of the stepper: buttons, keys, and the timer for playing.
#include <QAction>
#include <QDoubleSpinBox>
#include <QKeyEvent>
#include <QLabel>
#include <QToolButton>

#include "ui/stepper/stepper_panel.h"
#include "ui/theme/flow_layout.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kMinPace = 0.1, kMaxPace = 10, kUsualPace = 1;  // seconds per step

}  // namespace

QAction* StepperPanel::add_action(const QString& text, const QString& tip,
                                  const std::function<void()>& act) {
  auto* action = new QAction(text, this);
  action->setToolTip(tip);
  connect(action, &QAction::triggered, this, act);
  return action;
}

QWidget* StepperPanel::build_transport() {
  auto* bar = new QWidget(this);
  auto* row = new FlowLayout(bar, kGrid / 2);
  row->setContentsMargins(kGrid, 0, kGrid, 0);
  first_ = add_action(tr("First"), tr("Go to the start (Home)"), [this] { stepper_.go_to(0); });
  round_back_ =
      add_action(tr("Previous round"), tr("Go to the end of the previous round (Page Up)"),
                 [this] { stepper_.previous_round(); });
  back_ = add_action(tr("Previous step"), tr("Go back one step (Left)"),
                     [this] { stepper_.step_by(-1); });
  play_ = add_action(tr("Play"), tr("Play all steps (Space; Esc stops)"),
                     [this] { playing() ? stop() : play(); });
  step_ = add_action(tr("Next step"), tr("Go forward one step (Right)"),
                     [this] { stepper_.step_by(1); });
  round_ = add_action(tr("Next round"), tr("Go to the end of the round (Page Down)"),
                      [this] { stepper_.next_round(); });
  last_ = add_action(tr("Last"), tr("Go to the end (End)"), [this] { stepper_.go_to_end(); });
  for (QAction* action : {first_, round_back_, back_, play_, step_, round_, last_}) {
    auto* button = new QToolButton(bar);
    button->setDefaultAction(action);
    button->setFocusPolicy(Qt::TabFocus);
    button->installEventFilter(this);
    row->addWidget(button);
  }
  pace_ = new QDoubleSpinBox(bar);
  pace_->setRange(kMinPace, kMaxPace);
  pace_->setDecimals(1);
  pace_->setSingleStep(0.1);
  pace_->setSuffix(tr(" s per step"));
  pace_->setAccessibleName(tr("Playback pace in seconds per step"));
  pace_->setToolTip(tr("Duration of each step during playback"));
  connect(pace_, &QDoubleSpinBox::valueChanged, this, &StepperPanel::set_pace);
  pace_->setValue(kUsualPace);
  row->addWidget(pace_);
  return bar;
}

void StepperPanel::set_pace(double seconds) {
  clock_.setInterval(static_cast<int>(seconds * 1000));
}

// Plays all steps from the current one. If it is the last one, plays from the beginning.
void StepperPanel::play() {
  if (stepper_.steps().count() == 0) return;
  if (stepper_.step() == stepper_.steps().count()) stepper_.go_to(0);
  play_->setText(tr("Stop"));
  clock_.start();
}

void StepperPanel::stop() {
  clock_.stop();
  play_->setText(tr("Play"));
}

void StepperPanel::play_next() {
  stepper_.step_by(1);
  if (stepper_.step() == stepper_.steps().count()) stop();
}

bool StepperPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  return press(static_cast<const QKeyEvent&>(*event), qobject_cast<QToolButton*>(watched)) ||
         QWidget::eventFilter(watched, event);
}

// Handles a key. Space on a button presses the button instead of playing.
bool StepperPanel::press(const QKeyEvent& key, bool on_button) {
  if ((key.modifiers() & ~Qt::KeypadModifier) != Qt::NoModifier) return false;
  switch (key.key()) {
    case Qt::Key_Left: return back_->trigger(), true;
    case Qt::Key_Right: return step_->trigger(), true;
    case Qt::Key_PageUp: return round_back_->trigger(), true;
    case Qt::Key_PageDown: return round_->trigger(), true;
    case Qt::Key_Home: return first_->trigger(), true;
    case Qt::Key_End: return last_->trigger(), true;
    case Qt::Key_Escape: return stop(), true;
    case Qt::Key_Space:
      if (on_button) return false;
      return play_->trigger(), true;
    default: return false;
  }
}

}  // namespace trainyard::ui
