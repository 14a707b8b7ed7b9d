// SPDX-License-Identifier: GPL-3.0-or-later
// The Run command: validates the document and its data in the background, then starts the run, or
// shows why it cannot run.
#pragma once

#include <QMainWindow>
#include <functional>

#include "ui/dock_panels.h"
#include "ui/panels/run_controls.h"
#include "ui/run_session.h"

namespace trainyard::ui {

class RunStarter : public QObject {
  Q_OBJECT
 public:
  RunStarter(QMainWindow& window, Document& document, RunSession& runs, RunControls& controls,
             Workspace& workspace, CentralArea& center, DockPanels& panels);

  void start();
  // Starts a run of the document, as `start` does. It resumes from the latest checkpoint of the run
  // in `run_directory`.
  void resume(const QString& run_directory);
  // Clears the addresses of all hosts, as one undo step, and starts a run as `start` does.
  void start_on_this_machine();
  // true if a run was requested and validation is not finished yet
  bool wanted() const { return wanted_; }
  void cancel();  // withdraws the request for a run

 signals:
  void starting();
  // requests to show the field of the document that has a problem
  void location_requested(const QString& path);

 private:
  void start_requested();
  void refuse_during_sweep();
  void refuse(const DisplayProblems& problems, std::function<bool()> is_resolved);
  void invite_to_draw();

  QMainWindow& window_;
  Document& document_;
  RunSession& runs_;
  RunControls& controls_;
  Workspace& workspace_;
  CentralArea& center_;
  DockPanels& panels_;
  bool wanted_ = false;
  // Directory of the earlier run from which the requested run resumes. Empty if it does not resume.
  // Not part of the document.
  QString resume_from_;
};

}  // namespace trainyard::ui
