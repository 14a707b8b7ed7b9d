// SPDX-License-Identifier: GPL-3.0-or-later
// The runs that the window has open: the current one, which canvas, charts and log show; those
// ticked to be laid over each other on the charts; and those that live, which are watched to their
// end whatever else is looked at meanwhile. Each is read once.
#pragma once

#include <QObject>
#include <QStringList>
#include <map>
#include <memory>
#include <vector>

#include "ui/model/run.h"

namespace trainyard::ui {

class RunSession : public QObject {
  Q_OBJECT
 public:
  explicit RunSession(const Services& services, QObject* parent = nullptr);
  ~RunSession() override;

  Run* current() const { return current_; }
  std::vector<Run*> live_runs() const;  // by directory, and so by time; usually one
  bool live() const { return !live_runs().empty(); }
  Run* commanded() const;  // whom controls act on: the current one if it lives or nobody does, else
                           // the newest that lives
  std::vector<Run*> shown()
      const;  // on the charts: the ticked ones in order; the current one where none is

  base::Result<void> start(const experiment::Experiment& experiment, const QString& data_directory,
                           const QString& name);
  void open(const QString& directory);  // becomes the current one; live if it lives
  void set_ticked(const QStringList& directories);

 signals:
  void current_changed();
  void shown_changed();
  void live_changed();  // others live than before
  void updated(Run* run);
  void trouble(Run* run, const QString& text);  // of the current run, or of one that lives
  void ended(Run* run);                         // it lived

 private:
  Run* keep(std::unique_ptr<Run> run);
  void adopt(std::unique_ptr<Run> run);
  void show(Run& run);
  void let_go();
  void tell_live();

  const Services& services_;
  std::map<QString, std::unique_ptr<Run>> runs_;  // by directory
  Run* current_ = nullptr;
  QStringList ticked_, live_;  // directories; live_: as it was told last
};

}  // namespace trainyard::ui
