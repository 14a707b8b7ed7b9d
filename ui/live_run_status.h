// SPDX-License-Identifier: GPL-3.0-or-later
// Shows live runs in the controls, the status line, the list of runs and the welcome page. Also
// finds runs that an earlier workbench left running, and offers to attach to them.
#pragma once

#include <QObject>
#include <QStringList>

#include "ui/dock_panels.h"
#include "ui/panels/run_controls.h"
#include "ui/run_session.h"

namespace trainyard::ui {

class LiveRunStatus : public QObject {
  Q_OBJECT
 public:
  LiveRunStatus(RunSession& runs, RunControls& controls, CentralArea& center, DockPanels& panels);

  void find_earlier_runs(const Services& services);  // searches in the background
  void run_ended(const Run& run);

 signals:
  void attach_requested(const QString& run_directory);

 private:
  void update();
  void offer_to_attach(const QStringList& live);

  RunSession& runs_;
  RunControls& controls_;
  CentralArea& center_;
  DockPanels& panels_;
  QStringList earlier_;  // directories of runs that another workbench started before this one
};

}  // namespace trainyard::ui
