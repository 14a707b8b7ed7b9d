// SPDX-License-Identifier: GPL-3.0-or-later
// The runs that the window shows: the current one, which controls, canvas and log follow, and those ticked to be laid over each
// other on the charts.
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

  Run* current() const { return current_.get(); }
  bool live() const { return current_ && current_->live(); }
  std::vector<Run*> shown() const;  // on the charts: the ticked ones in order; the current one where none is

  base::Result<void> start(const experiment::Experiment& experiment, const QString& data_directory);
  void open(const QString& directory);  // becomes the current one; live if it lives
  void set_ticked(const QStringList& directories);

 signals:
  void current_changed();
  void shown_changed();
  void trouble(const QString& text);  // of the current run
  void ended();

 private:
  void adopt(std::unique_ptr<Run> run);

  const Services& services_;
  std::unique_ptr<Run> current_;
  QStringList ticked_;
  std::map<QString, std::unique_ptr<Run>> others_;  // by directory
};

}  // namespace trainyard::ui
