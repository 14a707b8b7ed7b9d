// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/close_guard.h"

#include <QStatusBar>
#include <QTimer>

namespace trainyard::ui {
namespace {

constexpr int kStopPatienceMilliseconds = 8000;

}  // namespace

CloseGuard::CloseGuard(QMainWindow& window, FileActions& files, RunSession& runs,
                       const Questions& questions)
    : window_(window), files_(files), runs_(runs), questions_(questions) {}

bool CloseGuard::may_close() {
  // If the user closes the window again while a run is still stopping, leaves the run running.
  if (closing_ && runs_.live()) return true;
  if (!closing_ && !files_.may_discard()) return false;
  if (!runs_.live()) return true;
  switch (questions_.close_while_running(runs_.live_names().join(", "))) {
    case LiveRunAnswer::leave_running: return true;
    case LiveRunAnswer::stop:
      if (!runs_.live()) return true;  // the run ended while the dialog was open
      stop_and_close();
      break;
    case LiveRunAnswer::cancel: break;
  }
  return false;
}

// Stops all live runs, then closes when they have ended.
void CloseGuard::stop_and_close() {
  closing_ = true;
  window_.setEnabled(false);  // prevents edits, which would be discarded without a question
  for (Run* run : runs_.live_runs()) run->stop();
  window_.statusBar()->showMessage(tr("Stopping the run ..."));
  QTimer::singleShot(kStopPatienceMilliseconds, &window_, &QWidget::close);
}

void CloseGuard::run_ended() {
  if (closing_ && !runs_.live()) window_.close();
}

}  // namespace trainyard::ui
