// SPDX-License-Identifier: GPL-3.0-or-later
// List of runs with their results. Each run has a check box, a name and a menu. The list emits the
// user's requests and does not execute them.
#pragma once

#include <QStringList>
#include <QTreeWidget>
#include <vector>

#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {

class RunList : public QTreeWidget {
  Q_OBJECT
 public:
  explicit RunList(QWidget* parent = nullptr);

  bool is_editing() const;  // true while a name is being edited; new rows would discard the edit
  // `ticked`: directories of the ticked runs. The index of a run in it determines the run's color.
  void show_runs(const std::vector<RunEntry>& runs, const QStringList& ticked);
  // Sets the live runs. They cannot be deleted from now on; the next call of `show_runs` shows them
  // as running.
  void set_live(const QStringList& directories);

 signals:
  void open_requested(const QString& directory);
  void tick_requested(const QString& directory, bool on);
  void rename_requested(const QString& directory, const QString& name);
  void delete_requested(const QString& directory);

 protected:
  bool viewportEvent(QEvent* event) override;

 private:
  void build_header();
  void fit_columns();
  void fill(QTreeWidgetItem& item, const RunEntry& run, const QStringList& ticked) const;
  void item_changed(QTreeWidgetItem* item, int column);
  void show_menu(const QPoint& at);
  void edit_name(const QString& directory);

  QStringList live_;
};

}  // namespace trainyard::ui
