// SPDX-License-Identifier: GPL-3.0-or-later
// Panel of the runs on disk. Runs that are ticked are overlaid on the charts and compared.
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
  // Directories in the order in which they were ticked. The index of a run determines its color.
  QStringList ticked() const;
  void set_ticked(const QString& directory, bool ticked);
  // Sets the run that the workbench shows. It is listed even if it is in another directory than the
  // other runs. It is ticked while others are, so that the ticks match the charts.
  void set_current(const QString& directory);
  // live runs are shown as running and cannot be deleted
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
  // The current run was ticked automatically. If another run becomes current, the tick moves to it.
  bool auto_ticked_ = false;
  bool reading_ = false, again_ = false;
  QFileSystemWatcher watcher_;
  QTimer delay_timer_, poll_timer_;
  RunList* list_;
  ComparisonTable* table_;
  QLabel* empty_;
};

}  // namespace trainyard::ui
