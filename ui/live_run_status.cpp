// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/live_run_status.h"

#include "ui/live_runs.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {

LiveRunStatus::LiveRunStatus(RunSession& runs, RunControls& controls, CentralArea& center,
                             DockPanels& panels)
    : runs_(runs), controls_(controls), center_(center), panels_(panels) {
  connect(&runs, &RunSession::current_changed, this, &LiveRunStatus::update);
  connect(&runs, &RunSession::live_changed, this, &LiveRunStatus::update);
}

// Updates the controls and the status line. They always refer to the training run, even if another
// run is displayed.
void LiveRunStatus::update() {
  controls_.set_run(runs_.commanded());
  center_.state_bar().set_run(runs_.commanded());
  QStringList directories = earlier_;
  for (const Run* run : runs_.live_runs())
    if (!directories.contains(run->directory())) directories << run->directory();
  panels_.runs.set_live(directories);
  const QString names = runs_.live_names().join(", ");
  center_.welcome().set_live_run(names);
  panels_.scaling.set_training(names);
}

void LiveRunStatus::run_ended(const Run& run) {
  if (earlier_.removeAll(run.directory()) > 0) update();
}

void LiveRunStatus::find_earlier_runs(const Services& services) {
  find_live_runs_later(services, this, [this](const QStringList& live) {
    earlier_ = live;
    update();
    if (!live.isEmpty() && !runs_.live()) offer_to_attach(live);
  });
}

void LiveRunStatus::offer_to_attach(const QStringList& live) {
  const QString& first = live.first();
  const QString more =
      live.size() > 1 ? tr(" More live runs: %1, see Runs.").arg(live.size() - 1) : QString();
  center_.offers().show_text(Banner::Kind::information,
                             tr("A run is still running: %1").arg(run_name(first)),
                             tr("It was left running when its workbench was closed, or its "
                                "workbench ended unexpectedly.") +
                                 more);
  center_.offers().offer(tr("Attach"), [this, first] {
    emit attach_requested(first);
    return true;
  });
}

}  // namespace trainyard::ui
