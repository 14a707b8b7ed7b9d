// SPDX-License-Identifier: GPL-3.0-or-later
// Reports in a banner that a run failed or ended, and offers to show its log or to resume it.
#pragma once

#include <QMainWindow>
#include <QObject>
#include <QStringList>
#include <optional>

#include "ui/run_display.h"

namespace trainyard::ui {

class RunReports : public QObject {
  Q_OBJECT
 public:
  RunReports(QMainWindow& window, RunSession& runs, RunDisplay& display, RunStarter& starter,
             Workspace& workspace, CentralArea& center, DockPanels& panels);
  void run_ended(const Run& run);

 private:
  QString name_of(const Run& run) const;
  void forget_failure();
  void run_updated(const Run& run);
  void report_run_error(const Run& run, const QString& text);
  void report_failure(const Run& run);
  void offer_this_machine(const Run& run, const base::Problem& problem);
  void report_lost_coordinator(const Run& run);
  void offer_resume(const Run& run);
  void offer_log(const Run& run, std::optional<int> rank);

  QMainWindow& window_;
  RunSession& runs_;
  RunDisplay& display_;
  RunStarter& starter_;
  Workspace& workspace_;
  CentralArea& center_;
  DockPanels& panels_;
  QStringList reported_failures_;  // directories of runs whose failure was reported
};

}  // namespace trainyard::ui
