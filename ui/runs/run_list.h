// SPDX-License-Identifier: GPL-3.0-or-later
// A line for each run, with what came of it: its tick, its name and its menu. It tells what a
// person wants and does none of it.
#pragma once

#include <QStringList>
#include <QTreeWidget>
#include <vector>

#include "ui/model/run_directory.h"

namespace trainyard::ui {

class RunList : public QTreeWidget {
  Q_OBJECT
 public:
  explicit RunList(QWidget* parent = nullptr);

  bool is_typed_in() const;  // a name is being typed: new lines would take it away
  void show_runs(
      const std::vector<RunEntry>& runs,
      const QStringList& ticked);  // directories: the place among them is the run's colour
  void set_live(const QStringList& directories);  // from now on never offered for the trash; the
                                                  // next lines say that they run

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
