// SPDX-License-Identifier: GPL-3.0-or-later
// Toolbars of the main window. They share one row, and show text beside icons if there is room.
#pragma once

#include <QObject>

#include "ui/file_actions.h"
#include "ui/panels/run_controls.h"
#include "ui/workspace.h"

class QMainWindow;
class QToolBar;

namespace trainyard::ui {

class Toolbars : public QObject {
  Q_OBJECT
 public:
  // Creates the toolbars. `window` must have actions named "undo" and "redo". `freeze`: the action
  // that freezes the charts.
  Toolbars(QMainWindow& window, FileActions& files, Workspace& workspace, RunControls& controls,
           QAction& freeze);
  void fit();  // adapts to the width of the window and to the font

 private:
  QToolBar* add(const char* name, const QString& title);
  void hide_button_text(int actions);

  QMainWindow& window_;
  RunControls& controls_;
  QAction& freeze_;
  QToolBar *tools_, *run_tools_;
};

}  // namespace trainyard::ui
