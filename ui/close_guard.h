// SPDX-License-Identifier: GPL-3.0-or-later
// Decides whether the main window may close. Asks about unsaved changes and live runs. Can stop the
// runs and close the window when the runs have ended.
#pragma once

#include <QMainWindow>
#include <QObject>

#include "ui/file_actions.h"
#include "ui/questions.h"
#include "ui/run_session.h"

namespace trainyard::ui {

class CloseGuard : public QObject {
  Q_OBJECT
 public:
  CloseGuard(QMainWindow& window, FileActions& files, RunSession& runs, const Questions& questions);

  bool may_close();
  void run_ended();  // closes the window if it is waiting for the run to end

 private:
  void stop_and_close();

  QMainWindow& window_;
  FileActions& files_;
  RunSession& runs_;
  const Questions& questions_;
  bool closing_ = false;
};

}  // namespace trainyard::ui
