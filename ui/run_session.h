// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that the workbench has open: the current one, shown by canvas, charts and log; ticked ones,
// overlaid on the charts; and live ones, watched to their end. Each is read once.
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
  std::vector<Run*> live_runs() const;  // by directory, and therefore by time; usually one
  QStringList live_names() const;       // name of one of `live_runs`, for display
  bool live() const { return !live_runs().empty(); }
  // target of the controls: the current run if it is live or no run is, else the newest live run
  Run* commanded() const;
  std::vector<Run*> shown() const;  // on the charts: ticked runs in order, else the current one

  base::Result<void> start(const experiment::Experiment& experiment, const QString& data_directory,
                           const QString& name);
  void open(const QString& directory);  // makes it the current run; commandable if live
  void set_ticked(const QStringList& directories);

 signals:
  void current_changed();
  void shown_changed();
  void live_changed();  // the set of live runs changed
  void updated(Run* run);
  void error_reported(Run* run, const QString& text);  // for the current run or a live one
  void ended(Run* run);                                // a live run ended

 private:
  Run* keep(std::unique_ptr<Run> run);
  void adopt(std::unique_ptr<Run> run);
  void show(Run& run);
  void detach();
  void emit_live_changed();

  const Services& services_;
  std::map<QString, std::unique_ptr<Run>> runs_;  // by directory
  Run* current_ = nullptr;
  // directories of runs; those of `live_` as of the last `live_changed`
  QStringList ticked_, live_;
};

}  // namespace trainyard::ui
