// SPDX-License-Identifier: GPL-3.0-or-later
// Panel of the runs on disk: tick several to overlay them on the charts and compare them.
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
  // directories in order of ticking; the index determines the run's color
  QStringList ticked() const;
  void set_ticked(const QString& directory, bool ticked);
  // Sets the run shown by the workbench. It is listed wherever its directory is, and is ticked
  // together with others, so that the ticks match the charts.
  void set_current(const QString& directory);
  void set_live(const QStringList& directories);  // shown as running, and never deleted
  const std::vector<RunEntry>& entries() const { return entries_; }
  void rename(const QString& directory, const QString& label);
  void ask_delete(const QString& directory);  // asks, then moves it to the trash

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
  // the current run was ticked automatically: its tick moves to the next current run
  bool auto_ticked_ = false;
  bool reading_ = false, again_ = false;
  QFileSystemWatcher watcher_;
  QTimer delay_timer_, poll_timer_;
  RunList* list_;
  ComparisonTable* table_;
  QLabel* empty_;
};

}  // namespace trainyard::ui
