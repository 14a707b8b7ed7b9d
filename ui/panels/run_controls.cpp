// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_controls.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QToolBar>
#include <cmath>

#include "core/base/json.h"
#include "core/base/units.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

using session::RunState;

constexpr double kStepsPerSecond[] = {1, 2, 5, 10, 50};

bool is_paused(const std::optional<session::Status>& status) {
  return status && (status->state == RunState::paused || status->state == RunState::pausing);
}

}  // namespace

RunControls::RunControls(Document& document, QObject* parent)
    : QObject(parent), document_(document) {
  run_ = add("run", tr("&Run"), QKeySequence("F5"),
             tr("Train the experiment, with one process per worker"));
  pause_ = add("pause", tr("&Pause training"), QKeySequence("F6"),
               tr("Pause all ranks after the same step; charts stay live. Press again to resume"));
  step_ = add("step", tr("Si&ngle step"), QKeySequence("F10"),
              tr("Train exactly one more step, then pause"));
  stop_ = add("stop", tr("&Stop"), QKeySequence("Shift+F5"),
              tr("Stop the run cleanly and keep its recording"));
  connect(run_, &QAction::triggered, this, &RunControls::run_requested);
  connect(pause_, &QAction::triggered, this, &RunControls::pause_or_resume);
  connect(step_, &QAction::triggered, this, [this] { run_shown_->single_step(); });
  connect(stop_, &QAction::triggered, this, [this] { run_shown_->stop(); });
  connect(&document, &Document::changed, this, &RunControls::refresh);
  connect(&document, &Document::problems_changed, this, &RunControls::refresh);
  refresh();
}

QAction* RunControls::add(const QString& icon_name, const QString& text, const QKeySequence& keys,
                          const QString& tip) {
  auto* action = new QAction(icon(icon_name), text, this);
  action->setShortcut(keys);
  action->setToolTip(tip + " (" + keys.toString(QKeySequence::NativeText) + ")");
  action->setStatusTip(tip);
  return action;
}

void RunControls::fill_menu(QMenu& menu) const {
  for (QAction* action : {run_, pause_, step_, stop_}) menu.addAction(action);
}

void RunControls::fill_toolbar(QToolBar& bar) {
  for (QAction* action : {run_, pause_, step_, stop_}) bar.addAction(action);
  bar.addSeparator();
  auto* label = new QLabel(tr("Pac&e "), &bar);
  pace_ = new QComboBox(&bar);
  pace_->setAccessibleName(tr("Pace"));
  pace_->setToolTip(
      tr("Maximum training speed, for watching. Measured speeds exclude the added delay, because "
         "they count only time within steps."));
  pace_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  label->setBuddy(pace_);
  for (const double rate : kStepsPerSecond)
    pace_->addItem(rate == 1 ? tr("1 step/s") : tr("%1 steps/s").arg(rate), 1 / rate);
  pace_->addItem(tr("full speed"), 0.0);
  bar.addWidget(label);
  bar.addWidget(pace_);
  connect(pace_, &QComboBox::activated, this, &RunControls::choose_pace);
  refresh();
}

void RunControls::set_run(Run* run) {
  if (run_shown_) run_shown_->disconnect(this);
  run_shown_ = run;
  if (run) {
    connect(run, &Run::updated, this, &RunControls::refresh);
    connect(run, &Run::ended, this, &RunControls::refresh);
    connect(run, &QObject::destroyed, this, &RunControls::refresh, Qt::QueuedConnection);
  }
  refresh();
}

void RunControls::refresh() {
  const std::optional<session::Status> status = live() ? run_shown_->status() : std::nullopt;
  const bool paused = is_paused(status),
             training = status && (paused || status->state == RunState::running);
  const bool starting =
      live() &&
      (!status ||
       status->state == RunState::starting);  // before the coordinator is ready, commands wait
  run_->setEnabled(!live() && startable_);
  pause_->setEnabled(training);
  pause_->setText(paused ? tr("&Resume training") : tr("&Pause training"));
  pause_->setIcon(icon(paused ? "resume" : "pause"));
  step_->setEnabled(training);
  stop_->setEnabled(training || starting);
  if (pace_ && (status || !live()))
    show_pace(status ? status->seconds_per_step : document_.experiment().run.seconds_per_step);
}

void RunControls::show_pace(double seconds_per_step) {
  if (pace_->view()->isVisible()) return;  // does not change the dial while the user is choosing
  int at = -1;
  for (int i = 0; i < pace_->count(); ++i)
    if (std::abs(pace_->itemData(i).toDouble() - seconds_per_step) < 1e-9) at = i;
  const int usual = static_cast<int>(std::size(kStepsPerSecond)) + 1;
  if (at < 0) {  // adds an entry for a pace that the document sets
    const QString text =
        tr("%1 per step").arg(QString::fromStdString(base::format_seconds(seconds_per_step)));
    if (pace_->count() > usual) pace_->removeItem(usual);
    pace_->addItem(text, seconds_per_step);
    at = usual;
  }
  pace_->setCurrentIndex(at);
}

void RunControls::choose_pace() {
  const double seconds_per_step = pace_->currentData().toDouble();
  if (live()) run_shown_->set_pace(seconds_per_step);
  else document_.set_value("run.seconds_per_step", seconds_per_step);
}

void RunControls::pause_or_resume() {
  if (is_paused(run_shown_->status())) run_shown_->resume();
  else run_shown_->pause();
}

}  // namespace trainyard::ui
