// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/menus.h"

#include <QAction>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QObject>
#include <QUndoStack>

#include "ui/help.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

QMenu& add_menu(QMainWindow& window, const QString& title) {
  return *window.menuBar()->addMenu(title);
}

void fill_file_menu(QMainWindow& window, const MenuContents& contents) {
  QMenu& menu = add_menu(window, QObject::tr("&File"));
  contents.files.fill_menu(menu);
  menu.addSeparator();
  menu.addAction(icon("runs"), QObject::tr("Open r&un ..."), QKeySequence("Ctrl+Shift+O"), &window,
                 contents.open_run);
  menu.addAction(icon("home"), QObject::tr("&Welcome page"), QKeySequence("Ctrl+Shift+W"), &window,
                 contents.toggle_welcome);
  menu.addSeparator();
  menu.addAction(QObject::tr("&Quit"), QKeySequence("Ctrl+Q"), &window, &QWidget::close);
}

void fill_edit_menus(QMainWindow& window, const MenuContents& contents) {
  QMenu& edit = add_menu(window, QObject::tr("&Edit"));
  QUndoStack& stack = contents.document.undo_stack();
  QAction* undo = stack.createUndoAction(&window, QObject::tr("&Undo"));
  QAction* redo = stack.createRedoAction(&window, QObject::tr("&Redo"));
  undo->setShortcut(QKeySequence::Undo);
  undo->setIcon(icon("undo"));
  undo->setObjectName("undo");
  redo->setShortcut(QKeySequence::Redo);
  redo->setIcon(icon("redo"));
  redo->setObjectName("redo");
  edit.addAction(undo);
  edit.addAction(redo);
  edit.addSeparator();
  contents.canvas.fill_edit_menu(edit);
  contents.canvas.fill_place_menu(add_menu(window, QObject::tr("&Place")));
  contents.canvas.fill_arrange_menu(add_menu(window, QObject::tr("&Arrange")));
}

void fill_run_menu(QMainWindow& window, const MenuContents& contents) {
  QMenu& menu = add_menu(window, QObject::tr("&Run"));
  contents.controls.fill_menu(menu);
  menu.addSeparator();
  contents.machines.fill_run_menu(menu);
  contents.charts.freeze_action()->setShortcut(QKeySequence("F7"));
  menu.addAction(contents.charts.freeze_action());
}

void fill_view_menu(QMainWindow& window, const MenuContents& contents) {
  QMenu& menu = add_menu(window, QObject::tr("&View"));
  contents.workspace.fill_perspectives(menu);
  menu.addSeparator();
  contents.canvas.fill_view_menu(menu);
  menu.addSeparator();
  contents.workspace.fill_menu(*menu.addMenu(QObject::tr("&Panels")));
  contents.appearance.fill_menu(*menu.addMenu(QObject::tr("&Look")));
}

void fill_help_menu(QMainWindow& window, ManualHelp& manual) {
  QMenu& menu = add_menu(window, QObject::tr("&Help"));
  manual.fill_menu(menu);
  menu.addSeparator();
  menu.addAction(QObject::tr("&Keyboard shortcuts"), QKeySequence("Ctrl+F1"), &window,
                 [&window] { show_shortcuts(window); });
  menu.addAction(QObject::tr("&About Trainyard"), QKeySequence("Shift+F1"), &window,
                 [&window] { show_about(window); });
}

}  // namespace

void fill_menu_bar(QMainWindow& window, const MenuContents& contents) {
  fill_file_menu(window, contents);
  fill_edit_menus(window, contents);
  fill_run_menu(window, contents);
  fill_view_menu(window, contents);
  fill_help_menu(window, contents.manual);
}

}  // namespace trainyard::ui
