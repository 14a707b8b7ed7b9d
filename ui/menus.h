// SPDX-License-Identifier: GPL-3.0-or-later
// Menus of the main window.
#pragma once

#include <functional>

#include "ui/appearance.h"
#include "ui/canvas/actions.h"
#include "ui/charts/run_charts.h"
#include "ui/file_actions.h"
#include "ui/machine_commands.h"
#include "ui/manual/manual_help.h"
#include "ui/panels/run_controls.h"
#include "ui/workspace.h"

class QMainWindow;

namespace trainyard::ui {

struct MenuContents {
  Document& document;
  FileActions& files;
  CanvasActions& canvas;
  RunControls& controls;
  RunCharts& charts;
  Workspace& workspace;
  Appearance& appearance;
  ManualHelp& manual;
  MachineCommands& machines;
  std::function<void()> open_run;  // asks for a run directory and opens it
  std::function<void()> toggle_welcome;
};

// The actions to undo and redo are children of the window, named "undo" and "redo".
void fill_menu_bar(QMainWindow& window, const MenuContents& contents);

}  // namespace trainyard::ui
