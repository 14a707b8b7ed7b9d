// SPDX-License-Identifier: GPL-3.0-or-later
// The list of runs: its rows and their menus.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QMenu>
#include <QTimer>
#include <QTreeWidget>
#include <functional>
#include <optional>

#include "ui/runs/runs_panel.h"

namespace trainyard::ui::test {

// Returns null if the run is not listed. The next refresh replaces the item.
inline QTreeWidgetItem* line_of(const ui::RunsPanel& panel, const QString& directory) {
  const auto* list = panel.findChild<QTreeWidget*>();
  for (int row = 0; row < list->topLevelItemCount(); ++row)
    if (list->topLevelItem(row)->data(0, Qt::UserRole).toString() == directory)
      return list->topLevelItem(row);
  return nullptr;
}

inline QString state_of(const ui::RunsPanel& panel, const QString& directory) {
  const QTreeWidgetItem* line = line_of(panel, directory);
  return line ? line->text(line->columnCount() - 1) : QString();
}

// Calls `act` while the menu of the run is open. The list must be visible.
inline void with_menu(ui::RunsPanel& panel, const QString& directory,
                      const std::function<void(QMenu&)>& act) {
  auto* list = panel.findChild<QTreeWidget*>();
  const QTreeWidgetItem* line = line_of(panel, directory);
  ASSERT_TRUE(line) << directory.toStdString() << " is not listed";
  QTimer::singleShot(0, &panel, [act] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    ASSERT_TRUE(menu) << "no menu opened";
    act(*menu);
    menu->close();
  });
  emit list->customContextMenuRequested(list->visualItemRect(line).center());
}

inline QAction* offered(const QMenu& menu, const QString& beginning) {
  for (QAction* action : menu.actions())
    if (action->text().startsWith(beginning)) return action;
  return nullptr;
}

// Returns nullopt if the menu does not contain the action.
inline std::optional<bool> may_be_trashed(ui::RunsPanel& panel, const QString& directory) {
  std::optional<bool> may;
  with_menu(panel, directory, [&may](const QMenu& menu) {
    if (const QAction* trash = offered(menu, "Move to trash")) may = trash->isEnabled();
  });
  return may;
}

}  // namespace trainyard::ui::test
