// SPDX-License-Identifier: GPL-3.0-or-later
// The runs that stand on disk: tick some to lay them over each other on the charts, and see what
// differs between them.
#pragma once

#include <QFileSystemWatcher>
#include <QStringList>
#include <QTimer>
#include <QWidget>
#include <map>
#include <memory>
#include <vector>

#include "ui/model/run_directory.h"

class QLabel;

namespace trainyard::ui {

class ComparisonTable;
class RunList;

class RunsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RunsPanel(const QString& runs_directory, QWidget* parent = nullptr);

  void refresh();              // reads on a thread of the pool; the list follows
  QStringList ticked() const;  // directories, in order of ticking: the place is the run's colour
  void set_ticked(const QString& directory, bool ticked);
  // The run that the window shows: listed wherever it stands, and ticked along with others, so that
  // the ticks are what the charts show.
  void set_current(const QString& directory);
  void set_live(const QStringList& directories);  // shown as running, and never deleted
  const std::vector<RunEntry>& entries() const { return entries_; }
  void rename(const QString& directory, const QString& label);
  void ask_delete(const QString& directory);  // and, if so, move it to the trash

 signals:
  void ticked_changed(const QStringList& directories);
  void open_requested(const QString& directory);
  void refreshed();

 private:
  void build();
  void show_entries();
  void forget_gone();
  void set_ticks(const QStringList& directories);
  void compare();
  const RunEntry* find(const QString& directory) const;

  QString runs_directory_;
  std::vector<RunEntry> entries_;
  QStringList ticked_, live_;
  QString current_;
  bool ticked_along_ = false;  // the current one, by no person: its tick goes over to the next
  bool reading_ = false, again_ = false;
  QFileSystemWatcher watcher_;
  QTimer soon_, now_and_then_;
  RunList* list_;
  ComparisonTable* table_;
  QLabel* empty_;
};

}  // namespace trainyard::ui
