// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that are open in the workbench. The current run is shown by canvas, charts and log. Ticked
// runs are overlaid on the charts. Live runs are followed to their end. Each run is read once.
#pragma once

#include <QObject>
#include <QStringList>
#include <map>
#include <memory>
#include <vector>

#include "ui/model/runs/run.h"

namespace trainyard::ui {

class RunSession : public QObject {
  Q_OBJECT
 public:
  explicit RunSession(const Services& services, QObject* parent = nullptr);
  ~RunSession() override;

  Run* current() const { return current_; }
  // returns the live runs, usually one; sorted by directory, and therefore by start time
  std::vector<Run*> live_runs() const;
  QStringList live_names() const;  // names for display, in the order of `live_runs`
  bool live() const { return !live_runs().empty(); }
  // Returns the run that Pause, Stop and the other controls act on: the current run if it is live,
  // else the newest live run, else the current run.
  Run* commanded() const;
  // Returns the runs whose lines are on the charts: the ticked runs in order, or the current run if
  // none is ticked.
  std::vector<Run*> shown() const;

  base::Result<void> start(const experiment::Experiment& experiment, const QString& data_directory,
                           const QString& name);
  // opens a run and makes it the current run; a live run can then be controlled
  void open(const QString& directory);
  void set_ticked(const QStringList& directories);

 signals:
  void current_changed();
  void shown_changed();
  void live_changed();  // the set of live runs changed
  void updated(Run* run);
  // reports an error of the current run or of a live run
  void error_reported(Run* run, const QString& text);
  void ended(Run* run);  // a live run ended

 private:
  Run* keep(std::unique_ptr<Run> run);
  void adopt(std::unique_ptr<Run> run);
  void show(Run& run);
  void detach();
  void emit_live_changed();

  const Services& services_;
  std::map<QString, std::unique_ptr<Run>> runs_;  // all open runs, by directory
  Run* current_ = nullptr;
  // `ticked_`: directories of the ticked runs. `live_`: directories of the live runs at the last
  // `live_changed`.
  QStringList ticked_, live_;
};

}  // namespace trainyard::ui
