// SPDX-License-Identifier: GPL-3.0-or-later
// Panel with the list of runs on disk. Ticked runs are overlaid on the charts and compared in a
// table.
#pragma once

#include <QFileSystemWatcher>
#include <QStringList>
#include <QTimer>
#include <QWidget>
#include <map>
#include <memory>
#include <vector>

#include "ui/model/runs/run_directory.h"

class QLabel;

namespace trainyard::ui {

class ComparisonTable;
class RunList;

class RunsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RunsPanel(const QString& runs_directory, QWidget* parent = nullptr);

  void refresh();  // reads on a pool thread and updates the list later
  // Returns the directories of the ticked runs, in the order in which they were ticked. The index
  // of a run determines its color.
  QStringList ticked() const;
  void set_ticked(const QString& directory, bool ticked);
  // Sets the run that the workbench shows. It is listed even if it is not in the directory of the
  // other runs. If other runs are ticked, it is ticked too, so that the ticks match the charts.
  void set_current(const QString& directory);
  // sets the live runs, which are shown as running and cannot be deleted
  void set_live(const QStringList& directories);
  const std::vector<RunEntry>& entries() const { return entries_; }
  void rename(const QString& directory, const QString& label);
  void ask_delete(const QString& directory);  // asks the user, then moves the run to the trash

 signals:
  void ticked_changed(const QStringList& directories);
  void open_requested(const QString& directory);
  void refreshed();

 private:
  void build();
  void show_entries();
  void untick_deleted();
  void set_ticks(const QStringList& directories);
  void compare();
  const RunEntry* find(const QString& directory) const;

  QString runs_directory_;
  std::vector<RunEntry> entries_;
  QStringList ticked_, live_;
  QString current_;
  // True if the current run was ticked by the panel and not by the user. If another run becomes
  // current, the tick then moves to that run.
  bool auto_ticked_ = false;
  bool reading_ = false, again_ = false;
  QFileSystemWatcher watcher_;
  QTimer delay_timer_, poll_timer_;
  RunList* list_;
  ComparisonTable* table_;
  QLabel* empty_;
};

}  // namespace trainyard::ui
